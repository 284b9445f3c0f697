"""Where several people talk to each other: each tells of themselves, and none of them speaks to the assistant."""

from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.offline.change_words import TAKES_BACK, refuted
from m2a.agents.offline.statements import Reading
from m2a.agents.state import TurnState
from m2a.types import Hit, MemoryEntry


def told_by(speaker: str, text: str) -> str:
    """The text of a memory in a person's own words."""
    return f"{speaker}: {text}"


def are_several(state: TurnState) -> bool:
    return len(state.people) > 1


def told_to_each_other(reading: Reading) -> Reading:
    """What a message tells; "forget it" and "bring it back" are said to the other person, and ask nothing of the memory."""
    return replace(
        reading,
        observations=reading.observations or reading.otherwise,
        forgets=(),
        otherwise=(),
        restores=False,
    )


def own_memories(state: TurnState, hits: Sequence[Hit]) -> list[Hit]:
    """The memories that the speaker told, without the name before the words: nobody corrects what another told."""
    name = told_by(state.message.speaker, "")
    return [
        replace(hit, record=replace(hit.record, text=hit.record.text.removeprefix(name)))
        for hit in hits
        if isinstance(hit.record, MemoryEntry) and hit.record.text.startswith(name)
    ]


def takes_back(said: str) -> bool:
    """Whether one corrects oneself in words. "Now" and "lately" run through all talk, and change nothing that was told."""
    return bool(TAKES_BACK.search(said) or refuted(said))
