"""Writers make typed records of a message, with a chat model or by rules."""

import re
from collections.abc import Sequence
from typing import Protocol

from m2a.agents.offline.dates import written
from m2a.agents.offline.event_dates import dates_of
from m2a.systems.engram.records import FORMS, Episode, Fact, Procedure, Record, Route
from m2a.systems.engram.variants import MemoryType
from m2a.systems.model_steps import Attempts, ask_for, run_together
from m2a.types import Message
from models.chat_model import ChatModel

_TITLE_WORDS = 6
_SENTENCE = re.compile(r"[^.!?\s][^.!?]*[.!?]*")
_HOW_TO = re.compile(
    r"\b(?:how to|step \d|(?:first|then|next|finally|always|never),? (?:you|add|put|turn|press|take))\b", re.I
)


class Writer(Protocol):
    async def records(self, message: Message, line: str, types: Sequence[MemoryType]) -> list[Record]:
        """Returns at most one record of each type. `line` is the message as `message_line` writes it, with captions."""
        ...


class ModelWriter:
    """Asks a router for the types of a message, and then one extractor for each type, side by side."""

    def __init__(self, chat_model: ChatModel, attempts: Attempts) -> None:
        self._chat_model = chat_model
        self._attempts = attempts

    async def records(self, message: Message, line: str, types: Sequence[MemoryType]) -> list[Record]:
        material = [("Message", [line])]
        route = await self._attempts.run("route", ask_for(self._chat_model, Route, "engram/route", material=material))
        if route is None:
            return []
        said_on = day_of(message)
        steps = [
            self._attempts.run(
                kind, ask_for(self._chat_model, FORMS[kind], f"engram/{kind}", material=material, said_on=said_on)
            )
            for kind in route.types
            if kind in types
        ]
        filled = await run_together(steps)
        return [form.record(said_on) for form in filled if form is not None]


class RuleWriter:
    """Keeps the words of the message as records: an event if it names a time, a procedure if it gives steps, and a fact unless it
    only asks."""

    async def records(self, message: Message, line: str, types: Sequence[MemoryType]) -> list[Record]:
        text = line.partition(": ")[2]
        title = " ".join(text.split()[:_TITLE_WORDS])
        words = f"{message.speaker}: {text}"
        said_on = day_of(message)
        made: list[Record] = []
        if dates := dates_of(text, message.said_at.date()):
            made.append(Episode(title=title, summary=words, timestamp=written(dates[0].interval)).record(said_on))
        if any(not sentence.endswith("?") for sentence in _SENTENCE.findall(text)):
            made.append(Fact(fact=words).record(said_on))
        if _HOW_TO.search(text):
            made.append(Procedure(title=title, content=words).record(said_on))
        return [record for record in made if record.type in types]


def day_of(message: Message) -> str:
    """Returns a time like `7 May 2023, 13:56`."""
    return f"{message.said_at:%-d %B %Y, %H:%M}"
