"""Conversations in which several people talk to each other, and not to the assistant."""

import re
from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.offline.change_words import TAKES_BACK, refuted
from m2a.agents.offline.observations import Reading
from m2a.agents.state import TurnState
from m2a.speakers import USER
from m2a.types import Hit, MemoryEntry, Message

_TELLER = re.compile(r"([A-Z][\w'’-]*(?: [A-Z][\w'’-]*){0,2}): ")


def told_by(speaker: str, text: str) -> str:
    """Returns the text of a memory of what the speaker said."""
    return f"{speaker}: {text}"


def teller_of(text: str) -> str | None:
    """Returns who told a memory of a conversation of several people; None for any other memory."""
    match = _TELLER.match(text)
    return match[1] if match else None


def speaker_named(message: Message) -> str | None:
    """Returns who of several people said the message; None if the user told the assistant."""
    return None if message.speaker in (USER, message.role) else message.speaker


def has_several_speakers(state: TurnState) -> bool:
    """Returns whether several people talk to each other."""
    return len(state.people) > 1


def told_to_each_other(reading: Reading) -> Reading:
    """Returns the reading with statements only; "forget it" and "bring it back" are said to the other person."""
    return replace(
        reading,
        observations=reading.observations or reading.otherwise,
        forgets=(),
        otherwise=(),
        restores=False,
    )


def own_memories(state: TurnState, hits: Sequence[Hit]) -> list[Hit]:
    """Returns the memories of what the speaker said, without the name in front: nobody corrects what another person said."""
    name = told_by(state.message.speaker, "")
    return [
        replace(hit, record=replace(hit.record, text=hit.record.text.removeprefix(name)))
        for hit in hits
        if isinstance(hit.record, MemoryEntry) and hit.record.text.startswith(name)
    ]


def takes_back(text: str) -> bool:
    """Returns whether the speaker corrects what they said; "now" and "lately" are too common in a dialogue to count."""
    return bool(TAKES_BACK.search(text) or refuted(text))
