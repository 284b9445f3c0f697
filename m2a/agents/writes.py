"""Turns an update's actions into changes, and checks what code can check: ids, numbers, dates, and words that must exist.

Whether the user wants a change is not checked here. The consent check decides that for a language model's changes; the changes
of the offline rules follow from the user's message.
"""

from collections.abc import Iterable, Mapping, Sequence

from m2a.agents.own_words import own_words
from m2a.agents.state import TurnState
from m2a.memory.bank import MemoryBank
from m2a.memory.quotations import matching_sentences
from m2a.memory.repetitions import spans_of_statement
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.words import finished_words
from m2a.types import (
    Addition,
    AddMemory,
    Change,
    ConceptMention,
    DateInterval,
    DeleteMemory,
    EntryDraft,
    EvidenceRange,
    Forgetting,
    ForgetWords,
    KeepingBack,
    MemoryEntry,
    Message,
    MessageSpan,
    NamedConcept,
    Reason,
    ReplaceMemory,
    Replacement,
    Restoration,
    RestoreMemory,
    RestsOn,
    Return,
)
from models.captioner import together

Write = AddMemory | DeleteMemory | ForgetWords | RestoreMemory

_WHY_ADDED: Mapping[RestsOn, Reason] = {
    "stated": "the user said so",
    "agreed": "the user agreed to it",
    "shown": "the user showed it",
}


def draft_change(bank: MemoryBank, state: TurnState, action: Write) -> Change:
    """Returns the change that the action asks for. Raises `RejectedWriteError` with a sentence for the writer."""
    if isinstance(action, RestoreMemory):
        if action.memory_id in bank.asked():
            return Return(action.memory_id, "the user chose it in the memory")
        if action.memory_id not in bank.replaced_entries([action.memory_id]):
            raise RejectedWriteError(f"No memory {action.memory_id} was replaced by another one.")
        return Restoration(action.memory_id, "the user said that both are true")
    if isinstance(action, ForgetWords):
        return _forgetting_of_words(bank, state, action)
    evidence = tuple(EvidenceRange(first, last) for first, last in action.evidence_ids)
    new = state.message.message_id
    if not any(first <= new <= last for first, last in evidence):
        raise RejectedWriteError(f"The evidence must include the message in which the user said it: [{new}, {new}].")
    if isinstance(action, DeleteMemory):
        return _keeping_back(bank, state, action) if action.asks else _forgetting_of_memory(bank, state, action)
    previous = _live_entry(bank, action.memory_id) if isinstance(action, ReplaceMemory) else None
    for memory_id in (action.corrects, *action.rivals):
        if memory_id is not None:
            _live_entry(bank, memory_id)
    draft = _draft(bank, state, action, evidence, previous)
    if isinstance(action, ReplaceMemory):
        return Replacement(action.memory_id, draft, "the user said that it changed")
    return Addition(draft, _WHY_ADDED[action.rests_on], action.rivals)


def words_going(bank: MemoryBank, action: DeleteMemory) -> list[str]:
    """Returns the user's own words that would be withheld with the memory if the action names none."""
    entry = _live_entry(bank, action.memory_id)
    others = [other for other in bank.entries() if other.memory_id != entry.memory_id]
    words = []
    for message in bank.messages_in_ranges(entry.evidence_ids):
        if message.role == "user":
            beside = [other.text for other in others if other.rests_on_message(message.message_id)]
            text = own_words(message.text).text
            spans = spans_of_statement(entry.text, text, [*beside, *([action.rest] if action.rest else [])])
            words += [text[first:last] for first, last in spans]
    return words


def _keeping_back(bank: MemoryBank, state: TurnState, action: DeleteMemory) -> KeepingBack:
    entry = _live_entry(bank, action.memory_id)
    spans = _request(entry.text, action.request, state.message)
    return KeepingBack(entry.memory_id, "the user asked to forget it", asks=True, spans=tuple(spans))


def _forgetting_of_memory(bank: MemoryBank, state: TurnState, action: DeleteMemory) -> Forgetting:
    entry = bank.asked().get(action.memory_id) or _live_entry(bank, action.memory_id)
    rest = _rest(bank, entry, action)
    forgotten = action.words.strip() or entry.text
    spans: list[MessageSpan] = []
    if action.words.strip():
        spans = _spans_of(forgotten, bank.messages_in_ranges(entry.evidence_ids))
        if not spans:
            raise RejectedWriteError(
                f"The messages that memory {entry.memory_id} rests on do not contain {forgotten!r}; copy the words "
                "exactly, or leave words empty to forget all of it."
            )
    elif rest is not None and not words_going(bank, action):
        raise RejectedWriteError(
            f"The messages that memory {entry.memory_id} rests on say it in other words; name in words what of them is to be "
            "forgotten, copied exactly."
        )
    request = _request(forgotten, action.request, state.message)
    return Forgetting((entry.memory_id,), "the user asked to forget it", (*spans, *request), rest)


def _rest(bank: MemoryBank, entry: MemoryEntry, action: DeleteMemory) -> EntryDraft | None:
    """Returns the part of the memory that stays, as a draft of its own with the same evidence."""
    text = action.rest.strip()
    if not text:
        return None
    words, whole = set(finished_words(text)), set(finished_words(entry.text))
    if added := words - whole:
        raise RejectedWriteError(
            f"rest may only hold words of memory {entry.memory_id}, which does not say {min(added)!r}."
        )
    if not words or words == whole:
        raise RejectedWriteError(f"rest must be a part of memory {entry.memory_id}, and not all or nothing of it.")
    return EntryDraft(
        text=text,
        evidence_ids=entry.evidence_ids,
        kind=entry.kind,
        caption=entry.caption,
        photo_ids=entry.photo_ids,
        concepts=tuple(mention for mention in _mentions(bank, entry) if set(finished_words(mention.name)) <= words),
        happened=entry.happened,
        rests_on=entry.rests_on,
        corrects=entry.corrects,
    )


def _forgetting_of_words(bank: MemoryBank, state: TurnState, action: ForgetWords) -> Forgetting:
    message = bank.messages([action.message_id]).get(action.message_id)
    if message is None:
        raise RejectedWriteError(f"There is no message {action.message_id}.")
    spans = _spans_of(action.words, [message])
    if not spans:
        raise RejectedWriteError(
            f"Message {action.message_id} does not contain {action.words!r}; copy the words exactly."
        )
    return Forgetting(
        (), "the user asked to forget it", (*spans, *_request(action.words, action.request, state.message))
    )


def _spans_of(words: str, messages: Iterable[Message]) -> list[MessageSpan]:
    """Returns all occurrences of the words in the messages."""
    words = words.strip()
    spans: list[MessageSpan] = []
    for message in messages:
        first = message.text.find(words)
        while first >= 0:
            spans.append(MessageSpan(message.message_id, first, first + len(words)))
            first = message.text.find(words, first + len(words))
    return spans


def _request(forgotten: str, request: str, message: Message) -> list[MessageSpan]:
    """Returns the sentences of the message that repeat what is to be forgotten, and those that ask for it."""
    repeating = [
        MessageSpan(message.message_id, first, last) for first, last in matching_sentences(forgotten, message.text)
    ]
    return [*repeating, *_spans_of(request, [message])] if request.strip() else repeating


def _draft(
    bank: MemoryBank,
    state: TurnState,
    action: AddMemory,
    evidence: tuple[EvidenceRange, ...],
    previous: MemoryEntry | None,
) -> EntryDraft:
    of_concepts = (number for concept in action.concepts for number in concept.photos or ())
    photo_ids = _photo_ids(state, tuple(dict.fromkeys((*action.photos, *of_concepts))))
    earlier_mentions: tuple[ConceptMention, ...] = ()
    if previous is not None and not photo_ids:
        earlier_mentions, photo_ids = _mentions(bank, previous), previous.photo_ids
    return EntryDraft(
        text=action.text,
        evidence_ids=evidence,
        kind=action.kind,
        caption=together(bank.photos.caption(photo_id) for photo_id in photo_ids),
        photo_ids=photo_ids,
        concepts=tuple(_mention(state, named, earlier_mentions, action.concepts) for named in action.concepts)
        or earlier_mentions,
        happened=_happened(action),
        rests_on=action.rests_on,
        corrects=action.corrects,
    )


def _photo_ids(state: TurnState, numbers: Sequence[int]) -> tuple[str, ...]:
    photo_ids = {view.number: view.photo_id for view in state.views}
    for number in numbers:
        if number not in photo_ids:
            raise RejectedWriteError(
                f"There is no photo {number}: these have a number: {', '.join(map(str, sorted(photo_ids))) or 'none'}."
            )
    return tuple(photo_ids[number] for number in numbers)


def _mention(
    state: TurnState, named: NamedConcept, earlier: Sequence[ConceptMention], concepts: Sequence[NamedConcept]
) -> ConceptMention:
    """Returns the mention of a concept, with its photos.

    `earlier` are the mentions in a replaced memory whose photos are kept, and `concepts` all that the new memory names. If one
    earlier name is missing and this one is new, it is taken as the new name of the same concept.
    """
    photo_ids = None if named.photos is None else _photo_ids(state, named.photos)
    if photo_ids is None and earlier:
        shown = {mention.name: mention.photo_ids for mention in earlier if not mention.denied}
        missing = [name for name in shown if name not in {concept.name for concept in concepts}]
        earlier_name = named.name if named.name in shown or len(missing) != 1 else missing[0]
        photo_ids = shown.get(earlier_name, ())
    return ConceptMention(named.name, named.kind, named.aliases, named.denied, photo_ids)


def _mentions(bank: MemoryBank, entry: MemoryEntry) -> tuple[ConceptMention, ...]:
    """Returns the mentions in an entry, with those of its photos that show each concept, or that are denied to show it."""
    own = set(entry.photo_ids)
    mentions = []
    for concept in bank.concepts():
        if concept.concept_id in entry.concept_ids:
            shown = tuple(photo_id for photo_id in concept.photo_ids if photo_id in own)
            mentions.append(ConceptMention(concept.name, concept.kind, photo_ids=shown))
            if denied := tuple(photo_id for photo_id in concept.denied_photo_ids if photo_id in own):
                mentions.append(ConceptMention(concept.name, concept.kind, denied=True, photo_ids=denied))
    return tuple(mentions)


def _happened(action: AddMemory) -> DateInterval | None:
    first = action.happened_from or action.happened_to
    last = action.happened_to or action.happened_from
    if first is None or last is None:
        return None
    if first > last:
        raise RejectedWriteError(f"happened_from {first} lies after happened_to {last}.")
    return DateInterval(first, last)


def _live_entry(bank: MemoryBank, memory_id: int) -> MemoryEntry:
    entry = bank.entry(memory_id)
    if entry is None:
        raise RejectedWriteError(f"There is no memory {memory_id}.")
    return entry
