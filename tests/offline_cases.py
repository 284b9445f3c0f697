"""Stories for the offline rules: reads them, plays them through the real Assistant, and scores what it keeps and says.

A line of `bench/corpus/stories.jsonl` is one turn of one story of one set; a set has one writer, who had not seen the rules.
Sets of the `train` split are learned from, those of the `test` split never; `opened` is the day of the first look at the
results of a set, and null until then. Statements and corrections name what must be kept (`keep`:
groups of alternatives, one memory meets them all) and what must be gone; questions name what the answer must and must
not hold. An ISO date among alternatives stands for the day in any of its usual forms.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from functools import cache
from pathlib import Path
from typing import Literal

from m2a.agents.offline import OfflineRules
from m2a.agents.offline.corrections import find_corrected
from m2a.agents.offline.names import named_concepts
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import read
from m2a.assistant import Assistant
from m2a.memory.owners import owner_named
from m2a.settings import Settings
from m2a.types import (
    Concept,
    EvidenceRange,
    Failed,
    Hit,
    MemoryEntry,
    MemoryRule,
    Message,
    MessageRecorded,
    ReplyFinished,
)
from m2a.wiring import offline_rules
from tests.bench.corpus import STORIES

DECLINED = ("I don't have that in memory.", "I don't know for sure.")
BEHAVIOURS = ("keeping", "correcting", "answering", "declining")

TurnKind = Literal["statement", "correction", "question", "never_said", "chit_chat"]
Split = Literal["train", "test"]

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
EVERYTHING = MemoryRule(never=frozenset())  # measures what the rules read, not what an owner excludes


@dataclass(frozen=True)
class Turn:
    id: str
    kind: TurnKind
    said_at: datetime
    new_conversation: bool
    text: str
    keep: tuple[tuple[str, ...], ...] = ()
    gone: tuple[str, ...] = ()
    accept: tuple[tuple[str, ...], ...] = ()
    reject: tuple[str, ...] = ()


@dataclass(frozen=True)
class Story:
    name: str
    turns: tuple[Turn, ...]


@dataclass(frozen=True)
class StorySet:
    """The stories of one writer."""

    name: str
    split: Split
    opened: date | None
    stories: tuple[Story, ...]


@dataclass(frozen=True)
class Played:
    """A played turn: the reply, and the live memories before and after it."""

    turn: Turn
    message: Message
    reply: str
    before: tuple[MemoryEntry, ...]
    after: tuple[MemoryEntry, ...]
    concepts: tuple[Concept, ...] = ()
    recent: tuple[Message, ...] = ()
    so_far: tuple[Message, ...] = ()  # of the user, in all conversations

    @property
    def added(self) -> list[MemoryEntry]:
        old_ids = {entry.memory_id for entry in self.before}
        return [entry for entry in self.after if entry.memory_id not in old_ids]

    @property
    def kept(self) -> bool:
        """Whether a memory contains the statement, or those of this message together: two facts may be two memories."""
        together = " ".join(entry.text for entry in self.added)
        return any(_holds(text, self.turn.keep) for text in (*(entry.text for entry in self.after), together))

    @property
    def corrected(self) -> bool:
        """Whether the old memory is superseded, or tied to its correction, which may name the old: "the 24th, not the 22nd"."""
        ties = {entry.corrects for entry in self.after}
        texts = [entry.text.casefold() for entry in self.before if entry.memory_id not in ties and entry in self.after]
        return self.kept and not any(word.casefold() in text for word in self.turn.gone for text in texts)

    @property
    def declined(self) -> bool:
        """Whether the reply declines. One that quotes the answer as the nearest memory has answered."""
        return self.reply.startswith(DECLINED) and not (self.turn.kind == "question" and self.answered)

    @property
    def answered(self) -> bool:
        """Whether the reply has the right words, and superseded ones only after "Before that" or denied in a right quotation."""
        rest = re.sub(r"\bBefore that,[^\n]*", "", self.reply).casefold()
        for quotation in re.findall(r'"[^"\n]*"', rest):
            if _holds(quotation, self.turn.accept):
                rest = rest.replace(quotation, "")
        return _holds(self.reply, self.turn.accept) and not any(word.casefold() in rest for word in self.turn.reject)

    @property
    def wrong(self) -> str | None:
        """Describes what went wrong; None if the turn went well."""
        match self.turn.kind:
            case "statement":
                return None if self.kept else "not kept"
            case "correction":
                return None if self.corrected else "not corrected" if self.kept else "correction not kept"
            case "question":
                wrong = None if self.answered else "declined" if self.declined else "answered wrongly"
            case "never_said":
                wrong = None if self.declined else "invented"
            case _:
                wrong = None
        return wrong or ("kept something" if self.added else None)


@dataclass
class Rate:
    right: int = 0
    of: int = 0

    def count(self, right: bool) -> None:
        self.right += right
        self.of += 1

    def __str__(self) -> str:
        return f"{self.right / self.of:.2f} ({self.right}/{self.of})" if self.of else "–"


@dataclass
class Score:
    """Precision and recall per behaviour, and the number of answers that state what was never said.

    `outright`: the questions that are answered with more than the nearest memories of a decline.
    """

    precision: dict[str, Rate] = field(default_factory=lambda: {name: Rate() for name in BEHAVIOURS})
    recall: dict[str, Rate] = field(default_factory=lambda: {name: Rate() for name in BEHAVIOURS})
    outright: Rate = field(default_factory=Rate)
    invented: int = 0


def read_sets(path: Path = STORIES, split: Split | None = None) -> dict[str, StorySet]:
    """Returns the sets by name, in the order of the file: all of them, or those of one split.

    Raises `ValueError` where the lines of one set disagree on its split or on the day on which it was opened.
    """
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    sets = {}
    for name in dict.fromkeys(row["set"] for row in rows):
        of_set = [row for row in rows if row["set"] == name]
        if len({(row["split"], row["opened"]) for row in of_set}) > 1:
            raise ValueError(f"The lines of set {name!r} in {path} differ in their split or in when it was opened.")
        opened = date.fromisoformat(of_set[0]["opened"]) if of_set[0]["opened"] else None
        turns: dict[str, list[Turn]] = {}
        for row in of_set:
            turns.setdefault(row["story"], []).append(_turn(row))
        stories = tuple(Story(story, tuple(group)) for story, group in turns.items())
        sets[name] = StorySet(name, of_set[0]["split"], opened, stories)
    return {name: story_set for name, story_set in sets.items() if split in (None, story_set.split)}


async def play(stories: Iterable[Story], policy: OfflineRules | None = None) -> list[Played]:
    """Plays every story in a memory of its own."""
    played = []
    now = [datetime.now().astimezone()]
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), chat_model="offline")
        async with Assistant.open(settings, clock=lambda: now[0], policy=policy or offline_rules()) as assistant:
            for number, story in enumerate(stories):
                owner = owner_named(assistant.stores.database, f"{number} {story.name}")
                assistant.memory(owner).set_rule(EVERYTHING)
                conversation: str | None = None
                recent: list[Message] = []
                so_far: list[Message] = []
                for turn in story.turns:
                    now[0] = turn.said_at
                    if turn.new_conversation:
                        conversation, recent = None, []
                    concepts = tuple(assistant.memory(owner).concepts())
                    before = _memories(assistant, owner)
                    reply = ""
                    async for event in assistant.turn(owner, turn.text, conversation_id=conversation):
                        if isinstance(event, MessageRecorded):
                            conversation = event.message.conversation_id
                            message = event.message
                        elif isinstance(event, ReplyFinished):
                            reply = event.message.text
                        elif isinstance(event, Failed):
                            raise RuntimeError(f"{turn.id}: {event.reason}")
                    after = _memories(assistant, owner)
                    played.append(Played(turn, message, reply, before, after, concepts, tuple(recent), tuple(so_far)))
                    recent.append(message)
                    so_far.append(message)
    return played


def simulate(stories: Iterable[Story], sense: Sense) -> list[Played]:
    """Plays every story without stores: quick, and close enough to learn from. Replies are empty."""
    played = []
    for story in stories:
        entries: list[MemoryEntry] = []
        recent: list[Message] = []
        concepts: dict[str, Concept] = {}
        for number, turn in enumerate(story.turns, start=1):
            recent = [] if turn.new_conversation else recent
            message = Message(number, story.name, "conversation", "user", "You", turn.text, (), turn.said_at)
            named, before = tuple(concepts.values()), tuple(entries)
            previous = recent[-1].message_id if recent else None
            for observation in read(message, recent, named, sense).observations:
                hits = [Hit(entry, 1.0, {}) for entry in entries]
                corrected = find_corrected(observation, hits, previous, named, sense).corrected
                if corrected and corrected.whole:
                    entries.remove(corrected.entry)
                mentions = named_concepts(observation, named)
                for mention in mentions:
                    new = Concept(len(concepts) + 1, story.name, mention.name, mention.aliases, mention.kind, ())
                    concepts.setdefault(mention.name.casefold(), new)
                entry = MemoryEntry(
                    memory_id=number * 100 + len(entries),
                    owner=story.name,
                    version=1,
                    kind=observation.kind,
                    text=observation.text,
                    caption="",
                    photo_ids=(),
                    evidence_ids=(EvidenceRange(number, number),),
                    concept_ids=tuple(concepts[mention.name.casefold()].concept_id for mention in mentions),
                    recorded_at=turn.said_at,
                    happened=observation.happened,
                    corrects=corrected.entry.memory_id if corrected and not corrected.whole else None,
                )
                entries.append(entry)
            played.append(Played(turn, message, "", before, tuple(entries), named, tuple(recent)))
            recent.append(message)
    return played


def false_quotations(played: Sequence[Played]) -> list[str]:
    """Returns the quotations in replies that occur in no message the user had written by then."""
    result = []
    for outcome in played:
        texts = [" ".join(message.text.split()) for message in (*outcome.so_far, outcome.message)]
        for quoted in re.findall(r'"([^"]+)"', outcome.reply):
            if not any(" ".join(quoted.split()) in text for text in texts):
                result.append(quoted)
    return result


def score(played: Sequence[Played]) -> Score:
    """Keeping: entries that belong to a statement, and nothing kept from other turns. Correcting: the new fact kept and the old
    one gone or tied to it; turns that rightly removed or tied one. Answering: the given answers that are right. Declining: the
    declined turns whose answer was never said."""
    result = Score()
    for outcome in played:
        kind = outcome.turn.kind
        removed = {entry.memory_id for entry in outcome.before} - {entry.memory_id for entry in outcome.after}
        if kind == "statement":
            result.recall["keeping"].count(outcome.kept)
        elif kind == "correction":
            result.recall["correcting"].count(outcome.corrected)
        if kind not in ("statement", "correction"):
            result.precision["keeping"].count(not outcome.added)
        elif outcome.added:
            result.precision["keeping"].count(any(_belongs(entry, outcome.turn) for entry in outcome.added))
        if removed or any(entry.corrects is not None for entry in outcome.added):
            result.precision["correcting"].count(kind == "correction" and outcome.corrected)
        if kind == "question":
            result.recall["answering"].count(outcome.answered)
            result.outright.count(outcome.answered and not outcome.reply.startswith(DECLINED))
        elif kind == "never_said":
            result.recall["declining"].count(outcome.declined)
            result.invented += not outcome.declined
        if kind in ("question", "never_said"):
            if outcome.declined:
                result.precision["declining"].count(kind == "never_said")
            else:
                result.precision["answering"].count(kind == "question" and outcome.answered)
    return result


def holds_any(text: str, alternatives: Iterable[str]) -> bool:
    """Returns whether the text contains one of the alternatives; an ISO date in any usual form, with or without its year."""
    folded = text.casefold().replace("’", "'")
    return any(
        _forms_of(form).search(folded) is not None if _ISO_DATE.fullmatch(form) else form.casefold() in folded
        for form in alternatives
    )


@cache
def _forms_of(iso_date: str) -> re.Pattern[str]:
    day = date.fromisoformat(iso_date)
    month = f"{day:%B}".casefold()
    month, number = f"{month[:3]}(?:{month[3:]})?", rf"{day.day}(?:st|nd|rd|th)?"
    return re.compile(rf"{iso_date}|(?<!\d){number}(?: of)? {month}\b|\b{month} {number}(?!\d)")


def _belongs(entry: MemoryEntry, turn: Turn) -> bool:
    return any(holds_any(entry.text, group) for group in turn.keep)


def _memories(assistant: Assistant, owner: str) -> tuple[MemoryEntry, ...]:
    return tuple(assistant.memory(owner).entries())


def _holds(text: str, groups: Sequence[Sequence[str]]) -> bool:
    return all(holds_any(text, group) for group in groups)


def _turn(turn: dict) -> Turn:  # type: ignore[type-arg]
    return Turn(
        id=turn["id"],
        kind=turn["kind"],
        said_at=datetime.fromisoformat(turn["said_at"]),
        new_conversation=turn.get("new_conversation", False),
        text=turn["text"],
        keep=tuple(tuple(group) for group in turn.get("keep", ())),
        gone=tuple(turn.get("gone", ())),
        accept=tuple(tuple(group) for group in turn.get("accept", ())),
        reject=tuple(turn.get("reject", ())),
    )
