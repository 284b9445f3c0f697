"""The review: shows the user, one by one, the memories that wait for a decision and those that were refused."""

from m2a import memory_edits
from m2a.memory.bank import MemoryBank
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.types import Addition, EvidenceRange, HeldMemory, HeldPlace, Replacement, Review


def review(bank: MemoryBank, at: tuple[int, int] | None, *, skip: bool = False) -> Review:
    """Returns the counts of undecided memories, with the one at the place `at` in full.

    If that one was decided meanwhile, or with `skip`, returns the next one; the last is followed by the first.
    """
    places = bank.review_queue.places()
    while places:
        position = _position(places, at, skip=skip)
        memory = _held_memory(bank, places[position])
        if memory is not None:
            waiting = sum(place.held == "review" for place in places)
            return Review(waiting, len(places) - waiting, position + 1, memory)
        # Its evidence was forgotten, or the same text was remembered otherwise; if that is undone, it waits again.
        del places[position]
    return Review(0, 0)


def accept_held(bank: MemoryBank, reply_id: int, number: int, text: str | None) -> int:
    """Writes a memory that was held, with `text` in place of its own if given.

    Returns the id of the reply that reports the change, for `undo`. Raises `RejectedWriteError`, `MessageRefusedError` and
    `LookupError`.
    """
    memory = _undecided(bank, reply_id, number)
    if text is None or text.strip() == memory.change.draft.text:
        bank.review_queue.insist(reply_id, number)
        return reply_id
    return memory_edits.accept_edited(bank, memory, text)


def _position(places: list[HeldPlace], at: tuple[int, int] | None, *, skip: bool) -> int:
    if at is None:
        return 0
    for position, place in enumerate(places):
        if (place.reply_id, place.number) == at:
            return (position + skip) % len(places)
    later = (position for position, place in enumerate(places) if (place.reply_id, place.number) > at)
    return next(later, 0)


def _held_memory(bank: MemoryBank, place: HeldPlace) -> HeldMemory | None:
    refusals = bank.review_queue.refusals(place.reply_id)
    refusal = refusals[place.number] if place.number < len(refusals) else None
    if refusal is None or not isinstance(refusal.change, Addition | Replacement):
        return None
    evidence = bank.messages_in_ranges([EvidenceRange(*ids) for ids in refusal.change.draft.evidence_ids])
    from_user = [message for message in evidence if message.role == "user"]
    if isinstance(refusal.change, Addition) and bank.known_texts([refusal.change.draft.text]):
        return None
    previous = bank.entry(refusal.change.memory_id) if isinstance(refusal.change, Replacement) else None
    return HeldMemory(place, refusal.change, refusal.reason, from_user[-1] if from_user else None, previous)


def _undecided(bank: MemoryBank, reply_id: int, number: int) -> HeldMemory:
    places = bank.review_queue.places()
    place = next((place for place in places if (place.reply_id, place.number) == (reply_id, number)), None)
    memory = _held_memory(bank, place) if place else None
    if memory is None:
        raise RejectedWriteError("This memory was already decided on, or forgotten.")
    return memory
