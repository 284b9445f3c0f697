"""What a write must satisfy before it is staged. A recalled memory, a caption or text in a photo can cause none.

The checks hold whatever the model says: a write cites a message that the user typed in this conversation's
newest turns, and what it says (or removes) shares words with what the user typed there.
"""

from m2a.agents.state import TurnState
from m2a.memory.bank import MemoryBank
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.words import finished_words
from m2a.types import (
    Addition,
    AddMemory,
    Change,
    ConceptMention,
    DateInterval,
    DeleteMemory,
    Deletion,
    EntryDraft,
    EvidenceRange,
    MemoryEntry,
    Message,
    ReplaceMemory,
    Replacement,
)

# Of a memory's content words, the share that the user must have typed: low enough for a paraphrase.
SUPPORTED_SHARE = 1 / 3
# Words by which a memory speaks of its subject, said by nobody.
_UNSAID = frozenset(finished_words("the user's user speaker says said mentioned wants likes called named"))


def draft_change(bank: MemoryBank, state: TurnState, action: AddMemory | DeleteMemory) -> Change:
    """The change that the action asks for. Raises `RejectedWriteError` with a sentence for the model."""
    evidence = tuple(EvidenceRange(first, last) for first, last in action.evidence_ids)
    typed = _typed_words(bank, state, evidence)
    if isinstance(action, DeleteMemory):
        _check_subject(_known(bank, action.memory_id), typed)
        return Deletion(action.memory_id, action.reason)
    content = set(finished_words(action.text)) - _UNSAID
    if content and len(content & typed) < SUPPORTED_SHARE * len(content):
        raise RejectedWriteError("A memory must rest on what the user typed in the cited messages; use their words.")
    if isinstance(action, ReplaceMemory):
        previous = _known(bank, action.memory_id)
        _check_subject(previous, typed)
        return Replacement(action.memory_id, _draft(bank, state, action, evidence, previous), action.reason)
    return Addition(_draft(bank, state, action, evidence, None), state.request)


def _draft(
    bank: MemoryBank,
    state: TurnState,
    action: AddMemory,
    evidence: tuple[EvidenceRange, ...],
    previous: MemoryEntry | None,
) -> EntryDraft:
    numbers = {photo.number: photo.photo_id for photo in state.photos}
    for number in action.photos:
        if number not in numbers:
            raise RejectedWriteError(f"There is no photo {number} in the user's message; it has {len(numbers)}.")
    photo_ids = tuple(numbers[number] for number in action.photos)
    if previous is not None and not photo_ids:
        photo_ids = previous.photo_ids
    captions = [bank.caption(photo_id) for photo_id in photo_ids]
    return EntryDraft(
        text=action.text,
        evidence_ids=evidence,
        kind=action.kind,
        caption="; ".join(dict.fromkeys(caption for caption in captions if caption)),
        photo_ids=photo_ids,
        concepts=action.concepts or (_mentions(bank, previous) if previous else ()),
        happened=_happened(action),
    )


def _mentions(bank: MemoryBank, entry: MemoryEntry) -> tuple[ConceptMention, ...]:
    return tuple(
        ConceptMention(name=concept.name, kind=concept.kind)
        for concept in bank.concepts()
        if concept.concept_id in entry.concept_ids
    )


def _happened(action: AddMemory) -> DateInterval | None:
    first = action.happened_from or action.happened_to
    last = action.happened_to or action.happened_from
    if first is None or last is None:
        return None
    if first > last:
        raise RejectedWriteError(f"happened_from {first} lies after happened_to {last}.")
    return DateInterval(first, last)


def _known(bank: MemoryBank, memory_id: int) -> MemoryEntry:
    entry = bank.entry(memory_id)
    if entry is None:
        raise RejectedWriteError(f"There is no memory {memory_id}.")
    return entry


def _check_subject(entry: MemoryEntry, typed: set[str]) -> None:
    if not typed & set(finished_words(f"{entry.text} {entry.caption}")):
        raise RejectedWriteError(
            f"The user's cited messages do not speak of memory {entry.memory_id}; cite those that do."
        )


def _typed_words(bank: MemoryBank, state: TurnState, evidence: tuple[EvidenceRange, ...]) -> set[str]:
    """The content words that the user typed in the cited messages; at least one must be of the newest turns."""
    cited: list[Message] = bank.messages_in_ranges(evidence)
    newest = {state.message.message_id, *(message.message_id for message in state.recent)}
    typed = [message for message in cited if message.role == "user"]
    if not any(message.message_id in newest for message in typed):
        raise RejectedWriteError(
            f"The evidence must include the message in which the user said it, such as [{state.message.message_id}, "
            f"{state.message.message_id}]."
        )
    return {word for message in typed for word in finished_words(f"{message.speaker} {message.text}")}
