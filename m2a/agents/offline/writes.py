"""The update stage: search for what a message may correct or asks to forget, then write, one step per call."""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from m2a.agents.offline.change_words import corrects
from m2a.agents.offline.corrections import CorrectionChoice, find_corrected
from m2a.agents.offline.dialogues import has_several_speakers, own_memories, takes_back
from m2a.agents.offline.event_dates import dated_as
from m2a.agents.offline.foreign import (
    asks_to_forget,
    names_anything,
    says_that_it_changed,
    sentences_meant_by,
    told_before,
)
from m2a.agents.offline.forgetting import (
    find_forgotten,
    forgets_none,
    forgotten_words,
    may_be_forgotten,
    names_something,
    what_stays,
)
from m2a.agents.offline.last_reply import quoted_among
from m2a.agents.offline.names import find_names, named_concepts
from m2a.agents.offline.observations import Observation, Reading
from m2a.agents.offline.photo_statements import is_pictured
from m2a.agents.offline.questions import content_words
from m2a.agents.offline.relevance import entries_of, messages_of
from m2a.agents.offline.sense import Sense
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

_MAX_FORGETS = 3  # per message
_MAX_QUERY = 400  # characters
_COMPUTED_DATE = re.compile(r"\([^()]*\d{4}[^()]*\)|\b\d{4}\b")  # dates that are computed, not quoted


@dataclass(frozen=True, slots=True)
class _Plan:
    """The writes that follow the searches. `missing` is what was to be forgotten and was not found."""

    writes: tuple[Action, ...]
    missing: tuple[str, ...]


class Writes:
    """Chooses the steps of the update stage."""

    def __init__(self, sense: Sense) -> None:
        self._sense = sense
        self._last_plan: tuple[TurnState, _Plan] | None = None  # all writes of a message follow from the same searches

    def next_step(self, state: TurnState, reading: Reading) -> Action:
        """Returns the next search for something to keep or forget, and then the writes; a rejected write is retried."""
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
                for changes in ({"words": ""}, {"words": "", "rest": ""}):  # the messages may word it differently
                    retry = write.model_copy(update=changes)
                    if retry not in done:
                        return retry
                    if not isinstance(done[retry], Rejected):
                        break
        return Finish(missing=", ".join(plan.missing))

    def _plan(self, state: TurnState, reading: Reading) -> _Plan:
        searched = replace(
            state, steps=tuple(step for step in state.steps if isinstance(step.observation, Searched)), rounds_left=0
        )
        cached = self._last_plan
        if cached is None or cached[0] != searched:
            cached = self._last_plan = (searched, _plan(searched, reading, self._sense))
        return cached[1]


def _plan(state: TurnState, reading: Reading, sense: Sense) -> _Plan:
    hits = state.hits
    previous = _previous_message(state, hits)
    deleted: set[int] = set()
    missing: list[str] = []
    writes: list[Action] = []
    if reading.restores:
        replaced = [change.previous for change in state.changes if change.change == "replaced" and change.previous]
        writes += _restore(replaced, "The user says that both are true.")
    doubts: dict[int, str] = {}
    for target in reading.forgets[:_MAX_FORGETS]:
        if state.asked and forgets_none(target):
            writes += _restore(state.asked, "The user does not want it forgotten.")
            continue
        forgotten = _forget(state, target, hits, previous, deleted, sense)
        writes += forgotten
        if any(isinstance(write, DeleteMemory) for write in forgotten):
            continue
        possible = may_be_forgotten(target, _without(hits, deleted), sense, surely_asks=not reading.otherwise)
        doubts |= {entry.memory_id: target for entry in possible}
        if not (forgotten or possible):
            missing.append(target.strip(" ."))
    observations = reading.observations
    if reading.otherwise and not (writes or doubts):  # if it is kept as a statement, nothing is missing
        observations, missing = reading.otherwise, []
    writes += _keep_all(state, observations, _without(hits, deleted | doubts.keys()), previous, sense)
    writes += [
        _delete(state, target, memory_id, asks=True) for memory_id, target in doubts.items() if memory_id not in deleted
    ]
    return _Plan(tuple(writes), tuple(missing))


def _restore(entries: Iterable[MemoryEntry], reason: str) -> list[RestoreMemory]:
    return [RestoreMemory(memory_id=entry.memory_id, reason=reason) for entry in entries]


def _keep_all(
    state: TurnState, observations: Sequence[Observation], hits: Sequence[Hit], previous: int | None, sense: Sense
) -> list[AddMemory]:
    """Returns the writes that keep the observations, each with what it corrects among the hits."""
    if has_several_speakers(state):
        hits = own_memories(state, hits)
    choices = [
        find_corrected(observation, hits, previous, state.concepts, sense)
        if _may_correct(state, observation)
        else CorrectionChoice()
        for observation in observations
    ]
    complete = [
        dated_as(observation, choice.corrected.entry.text) if choice.corrected else observation
        for observation, choice in zip(observations, choices, strict=True)
    ]
    return [_keep(state, observation, choice, complete) for observation, choice in zip(complete, choices, strict=True)]


def _may_correct(state: TurnState, observation: Observation) -> bool:
    """Returns whether it may correct a memory: it names no photos of its own, and among several people it takes back."""
    return not observation.photo_ids and (not has_several_speakers(state) or takes_back(observation.said))


def _searches(state: TurnState, reading: Reading) -> list[Action]:
    """Returns searches for what to forget, the statements, their names, and the previous message, which may be corrected.

    Returns none if several people talk and nobody takes anything back, since there is nothing to correct.
    """
    if has_several_speakers(state) and not any(takes_back(o.said) for o in reading.observations):
        return []
    previous = [message.text for message in state.recent if message.role == "user" and message.text.strip()]
    forgets = reading.forgets[:_MAX_FORGETS]
    searches: list[Action] = [SearchRawMessages(query=text) for text in dict.fromkeys(forgets) if names_something(text)]
    corrections = [o for o in reading.observations if corrects(o.said) or says_that_it_changed(o.said)]
    others = [o for o in reading.observations if o not in corrections]
    queries = [*forgets, *(o.text for o in corrections)]
    if reading.observations or forgets:
        queries += previous[-1:]
    for text in (*(o.text for o in corrections[:3]), *forgets):
        queries += [" ".join(find_names(text)[:3]), " ".join(content_words(text)[:3])]
    queries += [o.text for o in others]
    shortened = (query[:_MAX_QUERY] for query in queries)
    return searches + [SearchSemanticMemories(query=query) for query in dict.fromkeys(shortened) if query.strip()]


def _without(hits: Sequence[Hit], memory_ids: Collection[int]) -> list[Hit]:
    """Returns the hits that are memories, without those of these ids."""
    return [hit for hit in hits if isinstance(hit.record, MemoryEntry) and hit.record.memory_id not in memory_ids]


def _previous_message(state: TurnState, hits: Sequence[Hit]) -> int | None:
    """Returns the id of the message behind the one memory that the last reply quoted, else of the user's previous message.

    "Actually it was 210 euros" after an answer corrects what was quoted, not the question before it.
    """
    quoted = quoted_among(entries_of(hits), state.recent)
    if len(quoted) == 1:
        return quoted[0].evidence_ids[-1].last
    return next((message.message_id for message in reversed(state.recent) if message.role == "user"), None)


def _keep(
    state: TurnState, observation: Observation, choice: CorrectionChoice, observations: Sequence[Observation]
) -> AddMemory:
    """Returns the write that keeps one of the observations, in place of or beside the memory that it corrects."""
    first, last = observation.happened or (None, None)
    addition = AddMemory(
        text=observation.text,
        evidence_ids=_evidence(state, observation),
        kind=observation.kind,
        photos=_photos(state, observation, observations),
        concepts=_concepts(state, observation, observations),
        happened_from=first,
        happened_to=last,
    )
    corrected = choice.corrected
    if corrected is None:
        return addition.model_copy(update={"rivals": choice.rivals})
    if not corrected.whole or corrected.entry.photo_ids:
        return addition.model_copy(update={"corrects": corrected.entry.memory_id})
    return ReplaceMemory(**addition.model_dump(), memory_id=corrected.entry.memory_id, reason="The user corrected it.")


def _concepts(
    state: TurnState, observation: Observation, observations: Sequence[Observation]
) -> tuple[NamedConcept, ...]:
    """Returns the concepts of the observation, with photos that may show them unless it says itself which photos it names."""
    named_beside = [named for other in observations for named in other.concepts]
    concepts = named_concepts(observation, state.concepts, named_beside)
    if observation.photo_ids:  # they show whom the observation names first: "that's Jo's dog Biscuit" names Biscuit
        shown = [mention.name for mention in observation.concepts[:1]]
        return tuple(each if each.name in shown else each.model_copy(update={"photos": ()}) for each in concepts)
    if not state.photos:
        return concepts
    pictured = [concept for concept in concepts if is_pictured(concept.name, observation.said)]
    if len(pictured) > 1 and len(state.photos) > 1:
        pictured = []  # nobody said which photo shows which
    return tuple(concept if concept in pictured else concept.model_copy(update={"photos": ()}) for concept in concepts)


def _photos(state: TurnState, observation: Observation, observations: Sequence[Observation]) -> tuple[int, ...]:
    """Returns the photos of the observation: those of the message if it names something or, if none does, is the first.

    If it says itself which photos it names, returns only those, from this message or an earlier one.
    """
    if observation.photo_ids:
        return tuple(view.number for view in (*state.photos, *state.earlier) if view.photo_id in observation.photo_ids)
    others = [other for other in observations if not other.photo_ids]
    naming = [other for other in others if other.concepts] or others[:1]
    return tuple(photo.number for photo in state.photos) if observation in naming else ()


def _evidence(state: TurnState, observation: Observation) -> tuple[tuple[int, int], ...]:
    """Returns the message, the user's earlier message that gave the name for a pronoun, and those of earlier photos."""
    own = state.message
    shown_in = [view.message_id for view in state.earlier if view.photo_id in observation.photo_ids and view.message_id]
    missing = content(_COMPUTED_DATE.sub(" ", observation.text)) - content(own.text)
    earlier = [
        message
        for message in state.recent
        if message.role == "user" and content(message.text) & missing and not message.text.rstrip().endswith("?")
    ]
    cited = {*shown_in, *(message.message_id for message in earlier[-1:]), own.message_id}
    return tuple((message_id, message_id) for message_id in sorted(cited))


def _forget(
    state: TurnState, target: str, hits: Sequence[Hit], previous: int | None, deleted: set[int], sense: Sense
) -> list[Action]:
    """Returns the writes for "forget …": memories, and words that only messages have. Adds to `deleted`."""
    if asks_to_forget(target):
        return _forget_unread(state, target, hits, deleted)
    offered = [Hit(entry, 0.0, {}) for entry in state.asked]
    entries = [
        entry for entry in find_forgotten(target, [*hits, *offered], previous, sense) if entry.memory_id not in deleted
    ]
    if not entries and not names_something(target):
        entries = list(state.asked)  # "Forget them."
    writes: list[Action] = []
    for entry in entries:
        deleted.add(entry.memory_id)
        writes += _forget_memory(state, target, entry)
    # Deleting a memory also removes its words from messages; a memory that stays keeps its words.
    kept = [entry for entry in entries_of(hits) if entry.memory_id not in deleted]
    return writes + [
        words
        for words in _forget_words(state, target, hits, bool(entries))
        if not any(entry.rests_on_message(words.message_id) for entry in entries)
        and not any(_rests_on_words(entry, words) for entry in kept)
    ]


def _forget_unread(state: TurnState, target: str, hits: Sequence[Hit], deleted: set[int]) -> list[Action]:
    """Returns the writes in a language that is not read: words of messages, and any memories made from them."""
    writes: list[Action] = []
    if names_anything(target):
        statements = sentences_meant_by(target, told_before(_from_user(state, hits)))
    else:
        statements = told_before([message for message in state.recent if message.role == "user"][-1:])
    for statement in statements:
        words = ForgetWords(message_id=statement.message_id, words=statement.text)
        entries = [entry for entry in entries_of(_without(hits, deleted)) if _rests_on_words(entry, words)]
        for entry in entries:
            deleted.add(entry.memory_id)
            writes += _forget_memory(state, target, entry)
        if not entries:  # deleting a memory also removes its words
            writes.append(words)
    return writes


def _rests_on_words(entry: MemoryEntry, words: ForgetWords) -> bool:
    """Returns whether the memory was made from these words of the message."""
    stems = content(words.words)
    return entry.rests_on_message(words.message_id) and len(stems & content(entry.text)) > len(stems) / 2


def _forget_memory(state: TurnState, target: str, entry: MemoryEntry) -> list[Action]:
    """Returns the deletion of the memory; if it says more than is to be forgotten, the rest is kept as a new memory."""
    if entry.photo_ids or entry in state.asked:
        return [_delete(state, target, entry.memory_id)]
    rest, words = what_stays(target, entry.text)
    whole = _delete(state, target, entry.memory_id)
    return [whole.model_copy(update={"rest": rest, "words": words}) if rest else whole]


def _delete(state: TurnState, target: str, memory_id: int, *, asks: bool = False) -> DeleteMemory:
    own = (state.message.message_id, state.message.message_id)
    request = _request(target, state.message.text)
    reason = "The user asked to forget it."
    return DeleteMemory(memory_id=memory_id, reason=reason, evidence_ids=(own,), request=request, asks=asks)


def _request(target: str, text: str) -> str:
    """Returns the sentence that asks to forget `target`, or the whole text if none is found."""
    sentences = [text[first:last] for first, last in sentence_spans(text)]
    return next((sentence for sentence in sentences if target.strip(" .") in plain(sentence)), text)


def _forget_words(state: TurnState, target: str, hits: Sequence[Hit], any_memory: bool) -> list[ForgetWords]:
    """Returns the words that only messages have; if nothing is named and no memory is meant, the user's last message."""
    if not names_something(target):
        last = next((m for m in reversed(state.recent) if m.role == "user" and m.text.strip()), None)
        if any_memory or last is None or last.text == FORGOTTEN:
            return []
        return [ForgetWords(message_id=last.message_id, words=last.text)]
    return [
        ForgetWords(message_id=message.message_id, words=words)
        for message in _from_user(state, hits)
        for words in forgotten_words(target, message.text)
    ]


def _from_user(state: TurnState, hits: Sequence[Hit]) -> list[Message]:
    """Returns the user's messages among the hits and the recent ones, without the current one."""
    messages = (*messages_of(hits), *state.recent)
    from_user = [m for m in messages if m.role == "user" and m.message_id != state.message.message_id]
    return list({m.message_id: m for m in from_user}.values())
