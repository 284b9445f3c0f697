"""The review: memories that wait for their owner, and those that were not written, one after the other."""

from m2a import memory_edits
from m2a.memory.bank import MemoryBank
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.types import Addition, EvidenceRange, HeldMemory, HeldPlace, Replacement, Review


def review(bank: MemoryBank, at: tuple[int, int] | None, *, skip: bool = False) -> Review:
    """What is to be decided on, with the memory at the place `at`, or the one behind it where that was decided on or is to
    be skipped; from the last on it begins again with the first."""
    places = bank.review_queue.places()
    while places:
        position = _position(places, at, skip=skip)
        memory = _held_memory(bank, places[position])
        if memory is not None:
            waiting = sum(place.held == "review" for place in places)
            return Review(waiting, len(places) - waiting, position + 1, memory)
        del places[position]  # its words were forgotten: it waits again where that is taken back
    return Review(0, 0)


def keep(bank: MemoryBank, reply_id: int, number: int, text: str | None) -> int:
    """Write a memory that was held, on wish with another text; the reply that tells of it, by whose changes it is undone.

    Raises `RejectedWriteError`, `MessageRefusedError` and `LookupError`.
    """
    memory = _found(bank, reply_id, number)
    if text is None or text.strip() == memory.change.draft.text:
        bank.review_queue.insist(reply_id, number)
        return reply_id
    return memory_edits.keep_edited(bank, memory, text)


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
    ranges = [EvidenceRange(*one) for one in refusal.change.draft.evidence_ids]
    said = [message for message in bank.messages_in_ranges(ranges) if message.role == "user"]
    previous = bank.entry(refusal.change.memory_id) if isinstance(refusal.change, Replacement) else None
    return HeldMemory(place, refusal.change, refusal.reason, said[-1] if said else None, previous)


def _found(bank: MemoryBank, reply_id: int, number: int) -> HeldMemory:
    place = next((one for one in bank.review_queue.places() if (one.reply_id, one.number) == (reply_id, number)), None)
    memory = _held_memory(bank, place) if place else None
    if memory is None:
        raise RejectedWriteError("This was decided on meanwhile, or forgotten.")
    return memory
