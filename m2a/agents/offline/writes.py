"""The update stage: look for what a message may correct or wants forgotten, then write, one step a call."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from m2a.agents.offline.change_words import corrects
from m2a.agents.offline.corrections import Correction, find_corrected, rivals_of, without_strays
from m2a.agents.offline.foreign import (
    asks_to_forget,
    meant_by,
    names_anything,
    says_that_it_changed,
    told_before,
)
from m2a.agents.offline.forgetting import (
    find_forgotten,
    forgets_none,
    forgotten_words,
    may_be_forgotten,
    what_is_meant,
    what_stays,
)
from m2a.agents.offline.names import find_names
from m2a.agents.offline.people import are_several, own_memories, takes_back
from m2a.agents.offline.pictured import is_pictured
from m2a.agents.offline.questions import content_words
from m2a.agents.offline.relevance import entries_of
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import Observation, Reading, each_time, with_concepts
from m2a.agents.offline.text import content, plain
from m2a.agents.state import Rejected, Searched, TurnState
from m2a.memory.quotations import sentence_spans
from m2a.memory.withheld import FORGOTTEN
from m2a.types import (
    Action,
    AddMemory,
    DeleteMemory,
    Finish,
    ForgetWords,
    Hit,
    MemoryEntry,
    Message,
    NamedConcept,
    ReplaceMemory,
    RestoreMemory,
    SearchRawMessages,
    SearchSemanticMemories,
)

_FORGETS = 3  # of one message
_WORDS_OF_A_SEARCH = 400  # characters
_DATE_ADDED = re.compile(r"\([^()]*\d{4}[^()]*\)|\b\d{4}\b")  # computed, and in nobody's words


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is written once all is searched. `missing` was to be forgotten and is not there."""

    writes: tuple[Action, ...]
    missing: tuple[str, ...]


class Writes:
    """Chooses the steps of the update stage."""

    def __init__(self, sense: Sense) -> None:
        self._sense = sense
        self._last_plan: tuple[TurnState, _Plan] | None = None  # a message's writes all come of the same searches

    def next_step(self, state: TurnState, reading: Reading) -> Action:
        """Search for each thing to keep or forget, then write. What is refused is put differently once, or left."""
        done = {step.action: step.observation for step in state.steps}
        writes_to_come = len(reading.observations) + len(reading.otherwise) + 2 * len(reading.forgets) + 1
        for search in _searches(state, reading):
            if search not in done and state.rounds_left > writes_to_come:
                return search
        plan = self._plan(state, reading)
        for write in plan.writes:
            if write not in done:
                return write
            if isinstance(write, DeleteMemory) and write.words and isinstance(done[write], Rejected):
                for words in ({"words": ""}, {"words": "", "rest": ""}):  # its messages word it otherwise
                    further = write.model_copy(update=words)
                    if further not in done:
                        return further
                    if not isinstance(done[further], Rejected):
                        break
        return Finish(missing=", ".join(plan.missing))

    def _plan(self, state: TurnState, reading: Reading) -> _Plan:
        searched = replace(
            state, steps=tuple(step for step in state.steps if isinstance(step.observation, Searched)), rounds_left=0
        )
        last = self._last_plan
        if last is None or last[0] != searched:
            last = self._last_plan = (searched, _plan(searched, reading, self._sense))
        return last[1]


def _plan(state: TurnState, reading: Reading, sense: Sense) -> _Plan:
    found = _Found.of(state)
    newest = [message.message_id for message in reversed(state.recent) if message.role == "user"]
    gone: set[int] = set()
    missing: list[str] = []
    writes: list[Action] = list(_restored(state)) if reading.restores else []
    doubtful: dict[int, str] = {}
    for what in reading.forgets[:_FORGETS]:
        if state.asked and forgets_none(what):
            writes += _kept_after_all(state)
            continue
        forgotten = _forget(state, what, found, newest, gone, sense)
        writes += forgotten
        if any(isinstance(one, DeleteMemory) for one in forgotten):
            continue
        asked_alone = all(isinstance(one, ForgetWords) and one.words.rstrip().endswith("?") for one in forgotten)
        surely_asks = asked_alone and not reading.otherwise  # the words of a question are not what was told
        maybe = may_be_forgotten(what, found.without(gone), sense, surely_asks=surely_asks)
        doubtful |= {entry.memory_id: what for entry in maybe}
        if not (forgotten or maybe or state.asked):
            missing.append(what.strip(" ."))
    observations = reading.observations
    if reading.otherwise and not (writes or doubtful):  # what is kept as told asks for nothing else
        observations, missing = reading.otherwise, []
    hits = found.without(gone | doubtful.keys())
    if are_several(state):
        hits = own_memories(state, hits)
    corrections = without_strays(
        [
            None  # of these photos and no others: what names other photos is no rival
            if one.photo_ids or (are_several(state) and not takes_back(one.said))
            else find_corrected(one, one.said, hits, newest, state.concepts, sense)
            for one in observations
        ]
    )
    for observation, corrected in zip(observations, corrections, strict=True):
        told = each_time(observation, corrected.entry.text) if corrected else observation
        writes.append(_keep(state, reading, told, corrected, hits, newest, sense))
    writes += [
        _delete(state, what, memory_id, asks=True) for memory_id, what in doubtful.items() if memory_id not in gone
    ]
    return _Plan(tuple(writes), tuple(missing))


def _kept_after_all(state: TurnState) -> Iterator[RestoreMemory]:
    for entry in state.asked:
        yield RestoreMemory(memory_id=entry.memory_id, reason="The user does not want it forgotten.")


def _restored(state: TurnState) -> Iterator[RestoreMemory]:
    for change in state.changes:
        if change.change == "replaced" and change.previous is not None:
            yield RestoreMemory(memory_id=change.previous.memory_id, reason="The user says that both are true.")


def _searches(state: TurnState, reading: Reading) -> list[Action]:
    """What is to be forgotten, what is told, whom it is told of, and what was said just before, which it may correct.

    Nothing where several people talk and nobody takes anything back: there is nothing to correct then.
    """
    if are_several(state) and not any(takes_back(one.said) for one in reading.observations):
        return []
    previous = [message.text for message in state.recent if message.role == "user" and message.text.strip()]
    forgets = reading.forgets[:_FORGETS]
    searches: list[Action] = [SearchRawMessages(query=what) for what in dict.fromkeys(forgets) if what_is_meant(what)]
    corrections = [one for one in reading.observations if corrects(one.said) or says_that_it_changed(one.said)]
    others = [one for one in reading.observations if one not in corrections]
    queries = [*forgets, *(one.text for one in corrections)]
    if reading.observations or forgets:
        queries += previous[-1:]
    for text in (*(one.text for one in corrections[:3]), *forgets):
        queries += [" ".join(find_names(text)[:3]), " ".join(content_words(text)[:3])]
    queries += [one.text for one in others]
    shortened = (query[:_WORDS_OF_A_SEARCH] for query in queries)
    return searches + [SearchSemanticMemories(query=query) for query in dict.fromkeys(shortened) if query.strip()]


@dataclass(frozen=True, slots=True)
class _Found:
    """What the searches brought: memories, and messages of the raw log."""

    hits: tuple[Hit, ...]
    messages: tuple[Message, ...]

    @classmethod
    def of(cls, state: TurnState) -> "_Found":
        hits = tuple(
            hit for step in state.steps if isinstance(step.observation, Searched) for hit in step.observation.hits
        )
        messages = {hit.record.message_id: hit.record for hit in hits if isinstance(hit.record, Message)}
        return cls(hits, tuple(messages.values()))

    def without(self, memory_ids: set[int]) -> list[Hit]:
        return [
            hit for hit in self.hits if isinstance(hit.record, MemoryEntry) and hit.record.memory_id not in memory_ids
        ]


def _keep(
    state: TurnState,
    reading: Reading,
    observation: Observation,
    corrected: Correction | None,
    hits: Sequence[Hit],
    newest: Sequence[int],
    sense: Sense,
) -> AddMemory:
    addition = _addition(state, observation, reading)
    if observation.photo_ids:
        return addition
    if corrected is None:
        rivals = rivals_of(observation, observation.said, hits, newest, state.concepts, sense)
        return addition.model_copy(update={"rivals": rivals})
    if not corrected.whole or corrected.entry.photo_ids:
        return addition.model_copy(update={"corrects": corrected.entry.memory_id})
    return ReplaceMemory(**addition.model_dump(), memory_id=corrected.entry.memory_id, reason="The user corrected it.")


def _addition(state: TurnState, observation: Observation, reading: Reading) -> AddMemory:
    first, last = observation.happened or (None, None)
    return AddMemory(
        text=observation.text,
        evidence_ids=_evidence(state, observation),
        kind=observation.kind,
        photos=_photos(state, observation, reading),
        concepts=_concepts(state, observation, reading),
        happened_from=first,
        happened_to=last,
    )


def _concepts(state: TurnState, observation: Observation, reading: Reading) -> tuple[NamedConcept, ...]:
    """The concepts of the observation; where it does not itself say which photos it names, with those that they may show."""
    beside = [named for other in reading.observations for named in other.concepts]
    concepts = with_concepts(observation, state.concepts, beside)
    if observation.photo_ids or not state.photos:
        return concepts
    sentence = observation.said or observation.text
    pictured = [one for one in concepts if is_pictured(one.name, sentence)]
    if len(pictured) > 1 and len(state.photos) > 1:
        pictured = []  # nobody said which photo shows which
    return tuple(one if one in pictured else one.model_copy(update={"photos": ()}) for one in concepts)


def _photos(state: TurnState, observation: Observation, reading: Reading) -> tuple[int, ...]:
    """A message's photos go with the observation that names something, or else with its first.

    Where it says which photos it names, those alone, of this message or shown before.
    """
    if observation.photo_ids:
        return tuple(view.number for view in (*state.photos, *state.earlier) if view.photo_id in observation.photo_ids)
    others = [one for one in reading.observations or reading.otherwise if not one.photo_ids]
    naming = [one for one in others if one.concepts] or others[:1]
    return tuple(photo.number for photo in state.photos) if observation in naming else ()


def _evidence(state: TurnState, observation: Observation) -> tuple[tuple[int, int], ...]:
    """The message, the user's message before it that a pronoun's name was taken from, and those of earlier photos."""
    own = state.message
    shown = [view.message_id for view in state.earlier if view.photo_id in observation.photo_ids if view.message_id]
    unsaid = content(_DATE_ADDED.sub(" ", observation.text)) - content(own.text)
    earlier = [
        message
        for message in state.recent
        if message.role == "user" and content(message.text) & unsaid and not message.text.rstrip().endswith("?")
    ]
    cited = {*shown, *(message.message_id for message in earlier[-1:]), own.message_id}
    return tuple((message_id, message_id) for message_id in sorted(cited))


def _forget(
    state: TurnState, what: str, found: _Found, newest: Sequence[int], gone: set[int], sense: Sense
) -> list[Action]:
    """What "forget …" asks for: memories, and words that only a message holds. `gone` are the memories that go already."""
    if asks_to_forget(what):
        return _forget_unread(state, what, found, gone)
    asked = [Hit(entry, 0.0, {}) for entry in state.asked]
    entries = [one for one in find_forgotten(what, [*found.hits, *asked], newest, sense) if one.memory_id not in gone]
    if not entries and not what_is_meant(what):
        entries = list(state.asked)  # "Forget them."
    writes: list[Action] = []
    for entry in entries:
        gone.add(entry.memory_id)
        writes += _forget_memory(state, what, entry)
    # With a memory that goes its words go, and one that stays keeps its own.
    held = [span for entry in entries for span in entry.evidence_ids]
    staying = [entry for entry in entries_of(found.hits) if entry.memory_id not in gone]
    return writes + [
        one
        for one in _forget_words(state, what, found.messages, bool(entries))
        if not _is_held(one.message_id, held) and not any(_tells(entry, one) for entry in staying)
    ]


def _forget_unread(state: TurnState, what: str, found: _Found, gone: set[int]) -> list[Action]:
    """The same in a language that is not read: words of a message, and the memories that were made of them all the same."""
    writes: list[Action] = []
    if names_anything(what):
        meant = meant_by(what, told_before(_told_by_the_user(state, found.messages)))
    else:
        meant = told_before([message for message in state.recent if message.role == "user"][-1:])
    for told in meant:
        words = ForgetWords(message_id=told.message_id, words=told.text)
        entries = [entry for entry in entries_of(found.without(gone)) if _tells(entry, words)]
        for entry in entries:
            gone.add(entry.memory_id)
            writes += _forget_memory(state, what, entry)
        if not entries:  # with a memory its words go
            writes.append(words)
    return writes


def _tells(entry: MemoryEntry, words: ForgetWords) -> bool:
    """Whether the memory is of these words of the message."""
    said = content(words.words)
    return _is_held(words.message_id, entry.evidence_ids) and len(said & content(entry.text)) > len(said) / 2


def _is_held(message_id: int, evidence: Sequence[tuple[int, int]]) -> bool:
    return any(first <= message_id <= last for first, last in evidence)


def _forget_memory(state: TurnState, what: str, entry: MemoryEntry) -> list[Action]:
    """The memory goes; where it holds more than is to be forgotten, the rest is kept anew."""
    if entry.photo_ids or entry in state.asked:
        return [_delete(state, what, entry.memory_id)]
    rest, words = what_stays(what, entry.text)
    whole = _delete(state, what, entry.memory_id)
    return [whole.model_copy(update={"rest": rest, "words": words}) if rest else whole]


def _delete(state: TurnState, what: str, memory_id: int, *, asks: bool = False) -> DeleteMemory:
    own = (state.message.message_id, state.message.message_id)
    request = _request(what, state.message.text)
    reason = "The user asked to forget it."
    return DeleteMemory(memory_id=memory_id, reason=reason, evidence_ids=(own,), request=request, asks=asks)


def _request(what: str, text: str) -> str:
    """The sentence that asks to forget "what"; all of the text where that cannot be told."""
    sentences = [text[first:last] for first, last in sentence_spans(text)]
    return next((one for one in sentences if what.strip(" .") in plain(one)), text)


def _forget_words(state: TurnState, what: str, messages: Sequence[Message], any_memory: bool) -> list[ForgetWords]:
    """What only a message holds; with nothing named and no memory of it, all that the user said last."""
    if not what_is_meant(what):
        last = next((m for m in reversed(state.recent) if m.role == "user" and m.text.strip()), None)
        if any_memory or last is None or last.text == FORGOTTEN:
            return []
        return [ForgetWords(message_id=last.message_id, words=last.text)]
    return [
        ForgetWords(message_id=message.message_id, words=words)
        for message in _told_by_the_user(state, messages)
        for words in forgotten_words(what, message.text)
    ]


def _told_by_the_user(state: TurnState, messages: Sequence[Message]) -> list[Message]:
    """The user's among the messages and the recent ones, without the current one."""
    told = [m for m in (*messages, *state.recent) if m.role == "user" and m.message_id != state.message.message_id]
    return list({m.message_id: m for m in told}.values())
