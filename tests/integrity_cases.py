"""Cases of what a memory must not lose: read from one compact file, played through the real Assistant without a model.

The file has sections (`## pairs`, …); a line is a case, its fields are separated by ` | `, several texts in a field by ` // `.
"""

import re
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from pathlib import Path

from m2a.agents.offline import OfflineRules
from m2a.agents.offline.languages import is_english
from m2a.agents.prompting import reply_messages, stage_messages
from m2a.agents.state import Decision, SearchScope, TurnState
from m2a.assistant import Assistant
from m2a.memory.owners import owner_named
from m2a.memory.words import finished_words
from m2a.settings import Settings
from m2a.types import Failed, MemoryChanged, MemoryEntry, MemoryRule, MessageRecorded, ReplyFinished
from m2a.wiring import cache_dir
from models.abilities import Abilities
from models.chat_model import REPLY_TOKENS, ChatMessage, TokenUsage, in_words
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.turns import Clock, standing_clock

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
NOT_READ = "in this conversation only"
QUOTED = re.compile(r'"([^"]+)"')


def read_cases(path: Path) -> dict[str, list[list[str]]]:
    """The cases by section, each as its fields; a section of stories holds blocks of lines instead."""
    sections: dict[str, list[list[str]]] = {}
    cases: list[list[str]] = []
    name = ""
    block: list[str] | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            name = line[3:].strip()
            cases = sections.setdefault(name, [])
            block = None
        elif name == "stories":
            if not line.strip():
                block = None
            elif block is None:
                block = [line]
                cases.append(block)
            else:
                block.append(line)
        elif line.strip() and not line.startswith("#"):
            cases.append([part.strip() for part in line.split(" | ")])
    return sections


@dataclass
class Talk:
    """The record of one owner's conversation."""

    messages: dict[int, str] = field(default_factory=dict)  # the user's messages by id
    replies: list[str] = field(default_factory=list)
    changes: list[MemoryChanged] = field(default_factory=list)


class Teller:
    """One owner who talks to the assistant; every message a minute after the one before it."""

    def __init__(self, assistant: Assistant, clock: Clock, name: str) -> None:
        self._assistant = assistant
        self._clock = clock
        self._conversation: str | None = None
        self.owner = owner_named(assistant.stores.database, name)
        assistant.memory(self.owner).set_rule(MemoryRule(never=frozenset()))  # so that every loss is a mistake
        self.talk = Talk()

    def new_conversation(self) -> None:
        self._conversation = None

    async def say(self, text: str) -> str:
        """The reply; the update is done when it returns. Raises `RuntimeError` where the turn fails."""
        self._clock.now += timedelta(minutes=1)
        reply = ""
        async for event in self._assistant.turn(self.owner, text, conversation_id=self._conversation):
            if isinstance(event, MessageRecorded):
                self._conversation = event.message.conversation_id
                self.talk.messages[event.message.message_id] = text
            elif isinstance(event, ReplyFinished):
                reply = event.message.text
            elif isinstance(event, MemoryChanged):
                self.talk.changes.append(event)
            elif isinstance(event, Failed):
                raise RuntimeError(f"{text!r}: {event.reason}")
        self.talk.replies.append(reply)
        return reply

    def entries(self) -> list[MemoryEntry]:
        return self._assistant.memory(self.owner).entries()

    def entries_of(self, text: str) -> list[MemoryEntry]:
        """Returns the live memories that rest on messages with this text."""
        ids = {message_id for message_id, message in self.talk.messages.items() if message == text}
        return [e for e in self.entries() if any(f <= i <= last for f, last in e.evidence_ids for i in ids)]

    def false_quotations(self) -> list[str]:
        """Returns the quotations in replies that occur in no message of the user."""
        messages = [" ".join(message.split()) for message in self.talk.messages.values()]
        quotations = [" ".join(quote.split()) for reply in self.talk.replies for quote in QUOTED.findall(reply)]
        return [quote for quote in quotations if not any(quote in message for message in messages)]

    def rewritten(self) -> list[MemoryEntry]:
        """Returns live memories with words that their messages lack, except dates in brackets, which are computed."""
        result = []
        for entry in self.entries():
            allowed = {
                word
                for message_id, message in self.talk.messages.items()
                if any(first <= message_id <= last for first, last in entry.evidence_ids)
                for word in finished_words(message)
            }
            own = finished_words(re.sub(r"\([^()]*\d{4}[^()]*\)|\b\d{4}\b", " ", entry.text))
            if any(word not in allowed for word in own):
                result.append(entry)
        return result

    def keeps(self, text: str) -> bool:
        """Returns whether the statement is remembered or, if not English, the reply said that it stays in the conversation."""
        if is_english(text):
            telling = set(finished_words(text))
            kept_words = {word for entry in self.entries_of(text) for word in finished_words(entry.text)}
            return len(telling & kept_words) >= 0.6 * len(telling)
        index = list(self.talk.messages.values()).index(text)
        return bool(self.entries_of(text)) or NOT_READ in self.talk.replies[index]


class PromptingRules(OfflineRules):
    """The rules without a model, with the prompts that a language model would get instead."""

    def __init__(self) -> None:
        super().__init__(load_text_encoder(MINILM, cache_dir()))
        self.prompts: deque[str] = deque(maxlen=100)  # a turn has fewer

    async def decide(self, state: TurnState) -> Decision:
        self._keep(stage_messages(state, Abilities(sees_photos=False), SearchScope()))
        return await super().decide(state)

    def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        self._keep(reply_messages(state, Abilities(sees_photos=False), SearchScope(), REPLY_TOKENS))
        return super().reply(state)

    def _keep(self, messages: Sequence[ChatMessage]) -> None:
        parts = [part for message in in_words(messages) for part in message.parts if isinstance(part, str)]
        self.prompts.append("\n".join(parts))


class Stage:
    """An assistant without a model, and any number of owners."""

    def __init__(self, assistant: Assistant, clock: Clock, policy: PromptingRules) -> None:
        self._assistant, self._clock, self._numbers = assistant, clock, count(1)
        self._policy = policy

    def teller(self) -> Teller:
        return Teller(self._assistant, self._clock, f"teller {next(self._numbers)}")

    def prompts_since(self) -> list[str]:
        """Returns the prompts since the last call."""
        prompts = list(self._policy.prompts)
        self._policy.prompts.clear()
        return prompts


@cache
def rules() -> PromptingRules:
    """Shared by all stages: the rules cache encoded texts, and most texts occur on several stages."""
    return PromptingRules()


@asynccontextmanager
async def open_stage() -> AsyncIterator[Stage]:
    clock = standing_clock(START)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), chat_model="offline")
        policy = rules()
        async with Assistant.open(settings, clock=clock, policy=policy) as assistant:
            yield Stage(assistant, clock, policy)


def every_nth(cases: Sequence[list[str]], n: int) -> list[list[str]]:
    return list(cases[::n])


def holds(reply: str, keys: Sequence[str]) -> bool:
    folded = reply.casefold().replace("’", "'")
    return all(key.strip().casefold().replace("’", "'") in folded for key in keys)
