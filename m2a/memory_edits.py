"""Changes that the user makes to the memory by hand.

Each is recorded as a message and a reply, so that everything the memory quotes is in the log, and the change is reported and
undone like any other. The functions return the id of the reply that reports the change.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from m2a.incoming import check_message
from m2a.memory.bank import MemoryBank
from m2a.memory.retaining import RETAINED_BECAUSE
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.types import (
    Addition,
    Change,
    Concept,
    ConceptMention,
    DateInterval,
    EntryDraft,
    EvidenceRange,
    Forgetting,
    HeldMemory,
    Keeping,
    KeepingBack,
    MemoryEntry,
    Pinning,
    Replacement,
    Return,
    Supersession,
)

# A click is recorded as a request by the user, which later answers may read. The page describes it instead, as nobody typed it.
_FORGET, _PIN, _UNPIN = "Forget a memory of mine.", "Pin a memory of mine.", "Unpin a memory of mine."
_HIDE, _USE = "Do not mention a memory of mine.", "Use a memory of mine again."
_DATE = "Use a memory of mine for some time."
_ACTS = {
    _FORGET: "You chose to forget a memory.",
    _PIN: "You pinned a memory.",
    _UNPIN: "You unpinned a memory.",
    _HIDE: "You chose “Don’t mention” for a memory.",
    _USE: "You let me use a memory again.",
    _DATE: "You set the last day of a memory.",
}
_BROUGHT_BACK, _HOLDS = "This holds again: ", "This one holds: "
_ACTS_WITH_TEXT = {
    _BROUGHT_BACK: "You brought back: ",
    _HOLDS: "You kept, of several: ",
    RETAINED_BECAUSE: "You kept this, and erased the words that it came from: ",
}

_GONE = "This memory no longer exists; it was changed or forgotten meanwhile."


def edit_sentence(text: str) -> str:
    """Returns a description of the user's change from the message that records it; words that they typed stay as they are."""
    for prefix, description in _ACTS_WITH_TEXT.items():
        if text.startswith(prefix):
            return description + text.removeprefix(prefix)
    return _ACTS.get(text, f"You wrote: {text}")


def edit(bank: MemoryBank, memory_id: int, text: str, happened: DateInterval | None) -> int:
    """Changes the text of a memory and when it happened.

    The new version rests on the user's own words; the older one stays as history. Raises `RejectedWriteError` and
    `MessageRefusedError`.
    """
    text = text.strip()
    older = _live_entry(bank, memory_id)
    if not text:
        raise RejectedWriteError("A memory needs text; to remove the memory, forget it.")
    check_message(text)
    if (text, happened) == (older.text, older.happened):
        raise RejectedWriteError("Nothing was changed: the memory already says this.")
    draft = _draft(bank, older, text, happened)

    def changes(message: EvidenceRange) -> Sequence[Change]:
        return [Replacement(memory_id, replace(draft, evidence_ids=(message,)), "the user edited it")]

    return _recorded(bank, text, "I changed it in my memory.", changes)


def restore(bank: MemoryBank, memory_id: int) -> int:
    """Replaces the newest version of a memory with an older one. Raises `RejectedWriteError`."""
    older = bank.replaced_entries([memory_id]).get(memory_id)
    newest = older
    while newest is not None and newest.superseded_by is not None:
        successor_id = newest.superseded_by
        newest = (bank.entries_by_id([successor_id]) | bank.replaced_entries([successor_id])).get(successor_id)
    if older is None or newest is None:
        raise RejectedWriteError(_GONE)
    draft, current_id = _draft(bank, older, older.text, older.happened), newest.memory_id
    evidence = older.evidence_ids

    def changes(message: EvidenceRange) -> Sequence[Change]:
        return [Replacement(current_id, replace(draft, evidence_ids=(*evidence, message)), "the user brought it back")]

    return _recorded(bank, f"{_BROUGHT_BACK}{older.text}", "I brought it back.", changes)


def accept_edited(bank: MemoryBank, held_memory: HeldMemory, text: str) -> int:
    """Writes a memory that was held for review, with the user's text in place of its own.

    It rests on its original evidence and on the user's new words. Raises `RejectedWriteError` and `MessageRefusedError`.
    """
    text = text.strip()
    if not text:
        raise RejectedWriteError("A memory needs text; to remove the memory, reject it.")
    check_message(text)
    change = held_memory.change
    concepts = tuple(
        concept
        for concept in change.draft.concepts
        if any(_contains_name(text, name) for name in (concept.name, *concept.aliases))
    )
    evidence = change.draft.evidence_ids

    def changes(message: EvidenceRange) -> Sequence[Change]:
        draft = replace(
            change.draft, text=text, evidence_ids=(*evidence, message), concepts=concepts, rests_on="stated"
        )
        if isinstance(change, Replacement) and held_memory.previous is not None:
            return [replace(change, draft=draft)]
        return [Addition(draft, "the user edited it in the review")]

    reply_id = _recorded(bank, text, "I keep it as you put it.", changes)
    bank.review_queue.settle(held_memory.place.reply_id, held_memory.place.number)
    return reply_id


def forget(bank: MemoryBank, memory_id: int) -> int:
    """Forgets a memory and the words that it came from. Raises `RejectedWriteError`."""
    _live_entry(bank, memory_id)
    forgetting = Forgetting((memory_id,), "the user chose it in the memory")
    return _recorded(bank, _FORGET, "I forgot it.", lambda _message: [forgetting])


def change_use(bank: MemoryBank, change: Keeping) -> int:
    """Pins a memory, sets its last day, or bans it from answers, or reverts that.

    The recorded message repeats nothing from the memory, so it is no evidence and reveals nothing. Raises
    `RejectedWriteError`.
    """
    match change:
        case Pinning(is_pinned=True):
            message, reply = _PIN, "I pinned it."
        case Pinning():
            message, reply = _UNPIN, "I unpinned it."
        case KeepingBack():
            message, reply = _HIDE, "I keep it and do not mention it."
        case Return():
            message, reply = _USE, "I use it again."
        case _:
            message, reply = _DATE, "I noted its last day."
    return _recorded(bank, message, reply, lambda _message: [change])


def keep_one(bank: MemoryBank, kept_id: int, other_ids: Sequence[int]) -> int:
    """Replaces the other memories with one of them; the others stay as history. Raises `RejectedWriteError`."""
    entry = _live_entry(bank, kept_id)
    replaced = [_live_entry(bank, memory_id).memory_id for memory_id in other_ids]
    changes: list[Change] = [Supersession(memory_id, kept_id, "the user keeps one of them") for memory_id in replaced]
    return _recorded(bank, f"{_HOLDS}{entry.text}", "I keep this one.", lambda _message: changes)


def _recorded(
    bank: MemoryBank, message: str, reply: str, changes: Callable[[EvidenceRange], Sequence[Change | Keeping]]
) -> int:
    return bank.record_change(message, reply, changes).message_id


def _live_entry(bank: MemoryBank, memory_id: int) -> MemoryEntry:
    entry = bank.entry(memory_id)
    if entry is None:
        raise RejectedWriteError(_GONE)
    return entry


def _draft(bank: MemoryBank, older: MemoryEntry, text: str, happened: DateInterval | None) -> EntryDraft:
    """Returns a draft of the text without evidence, with the older entry's photos and its names that the text contains."""
    concepts = [concept for concept in bank.concepts() if concept.concept_id in older.concept_ids]
    mentions = [mention for concept in concepts for mention in _mentions(concept, older, text)]
    return EntryDraft(text, (), older.kind, older.caption, older.photo_ids, tuple(mentions), happened, "stated")


def _mentions(concept: Concept, older: MemoryEntry, text: str) -> list[ConceptMention]:
    aliases = tuple(alias for alias in concept.aliases if _contains_name(text, alias))
    if not aliases and not _contains_name(text, concept.name):
        return []
    shown_ids = tuple(photo_id for photo_id in older.photo_ids if photo_id in concept.photo_ids)
    denied_ids = tuple(photo_id for photo_id in older.photo_ids if photo_id in concept.denied_photo_ids)
    mentions = [ConceptMention(concept.name, concept.kind, aliases, photo_ids=shown_ids)]
    if denied_ids:
        mentions.append(ConceptMention(concept.name, concept.kind, denied=True, photo_ids=denied_ids))
    return mentions


def _contains_name(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None
