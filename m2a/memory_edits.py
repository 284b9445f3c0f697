"""Changes that the user makes in the memory by hand. Each is recorded as an exchange, so that what the memory quotes was said,
and so that the change is told and taken back like any other."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from m2a.incoming import check_message
from m2a.memory.bank import MemoryBank
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

_GONE = "This memory is not there any more; it was changed or forgotten meanwhile."


def edit(bank: MemoryBank, memory_id: int, text: str, happened: DateInterval | None) -> int:
    """Let the memory say the text, and when that was; the id of the reply that tells of it.

    What it says now rests on the user's own words; the older one stays as history. Raises `RejectedWriteError` and
    `MessageRefusedError`.
    """
    text = text.strip()
    older = _living(bank, memory_id)
    if not text:
        raise RejectedWriteError("A memory needs a text; to be rid of it, forget it.")
    check_message(text)
    if (text, happened) == (older.text, older.happened):
        raise RejectedWriteError("Nothing was changed: the memory says this already.")
    draft = _draft(bank, older, text, happened)

    def changes(said: EvidenceRange) -> Sequence[Change]:
        return [Replacement(memory_id, replace(draft, evidence_ids=(said,)), "the user edited it")]

    return _recorded(bank, text, "I changed it in my memory.", changes)


def restore(bank: MemoryBank, memory_id: int) -> int:
    """Let an older version of a memory hold again, in the place of the newest; the id of the reply that tells of it.

    Raises `RejectedWriteError`.
    """
    older = bank.replaced_entries([memory_id]).get(memory_id)
    newest = older
    while newest is not None and newest.superseded_by is not None:
        near = [newest.superseded_by]
        newest = (bank.entries_by_id(near) | bank.replaced_entries(near)).get(newest.superseded_by)
    if older is None or newest is None:
        raise RejectedWriteError(_GONE)
    draft, current_id = _draft(bank, older, older.text, older.happened), newest.memory_id
    evidence = older.evidence_ids

    def changes(said: EvidenceRange) -> Sequence[Change]:
        return [Replacement(current_id, replace(draft, evidence_ids=(*evidence, said)), "the user brought it back")]

    return _recorded(bank, f"This holds again: {older.text}", "I brought it back.", changes)


def keep_edited(bank: MemoryBank, held: HeldMemory, text: str) -> int:
    """Write a memory that was held as the user puts it; the id of the reply that tells of it.

    It rests on what was said before and on the user's own words now. Raises `RejectedWriteError` and `MessageRefusedError`.
    """
    text = text.strip()
    if not text:
        raise RejectedWriteError("A memory needs a text; to be rid of it, reject it.")
    check_message(text)
    change = held.change
    concepts = tuple(
        one for one in change.draft.concepts if any(_names(text, name) for name in (one.name, *one.aliases))
    )
    older = change.draft.evidence_ids

    def changes(said: EvidenceRange) -> Sequence[Change]:
        draft = replace(change.draft, text=text, evidence_ids=(*older, said), concepts=concepts, rests_on="stated")
        if isinstance(change, Replacement) and held.previous is not None:
            return [replace(change, draft=draft)]
        return [Addition(draft, "the user edited it in the review")]

    reply_id = _recorded(bank, text, "I keep it as you put it.", changes)
    bank.review_queue.settle(held.place.reply_id, held.place.number)
    return reply_id


def forget(bank: MemoryBank, memory_id: int) -> int:
    """Forget the memory and its words; the id of the reply that tells of it. Raises `RejectedWriteError`."""
    _living(bank, memory_id)
    forgetting = Forgetting((memory_id,), "the user chose it in the memory")
    return _recorded(bank, "Forget a memory of mine.", "I forgot it.", lambda _said: [forgetting])


def keep(bank: MemoryBank, change: Keeping) -> int:
    """Pin a memory, give it a last day, keep it back or let it be used again; the id of the reply that tells of it.

    Raises `RejectedWriteError`. What is said tells nothing of the memory: it is no evidence, and may be read by anybody.
    """
    match change:
        case Pinning(is_pinned=True):
            said, reply = "Pin a memory of mine.", "I pinned it."
        case Pinning():
            said, reply = "Unpin a memory of mine.", "I unpinned it."
        case KeepingBack():
            said, reply = "Do not mention a memory of mine.", "I keep it and do not mention it."
        case Return():
            said, reply = "Use a memory of mine again.", "I use it again."
        case _:
            said, reply = "Use a memory of mine for some time.", "I noted its last day."
    return _recorded(bank, said, reply, lambda _said: [change])


def keep_one(bank: MemoryBank, kept_id: int, others: Sequence[int]) -> int:
    """Put a memory in the place of the others, which stay as history; the id of the reply that tells of it.

    Raises `RejectedWriteError`.
    """
    kept = _living(bank, kept_id)
    replaced = [_living(bank, memory_id).memory_id for memory_id in others]
    changes: list[Change] = [Supersession(one, kept_id, "the user keeps one of them") for one in replaced]
    return _recorded(bank, f"This one holds: {kept.text}", "I keep this one.", lambda _said: changes)


def _recorded(
    bank: MemoryBank, said: str, reply: str, changes: Callable[[EvidenceRange], Sequence[Change | Keeping]]
) -> int:
    return bank.record_change(said, reply, changes).message_id


def _living(bank: MemoryBank, memory_id: int) -> MemoryEntry:
    found = bank.entry(memory_id)
    if found is None:
        raise RejectedWriteError(_GONE)
    return found


def _draft(bank: MemoryBank, older: MemoryEntry, text: str, happened: DateInterval | None) -> EntryDraft:
    """The text, without evidence, and all of the older entry that still holds: its photos, and the names in the text."""
    concepts = [concept for concept in bank.concepts() if concept.concept_id in older.concept_ids]
    mentions = [mention for concept in concepts for mention in _mentions(concept, older, text)]
    return EntryDraft(text, (), older.kind, older.caption, older.photo_ids, tuple(mentions), happened, "stated")


def _mentions(concept: Concept, older: MemoryEntry, text: str) -> list[ConceptMention]:
    aliases = tuple(alias for alias in concept.aliases if _names(text, alias))
    if not aliases and not _names(text, concept.name):
        return []
    shown = tuple(photo_id for photo_id in older.photo_ids if photo_id in concept.photo_ids)
    denied = tuple(photo_id for photo_id in older.photo_ids if photo_id in concept.denied_photo_ids)
    mentions = [ConceptMention(concept.name, concept.kind, aliases, photo_ids=shown)]
    if denied:
        mentions.append(ConceptMention(concept.name, concept.kind, denied=True, photo_ids=denied))
    return mentions


def _names(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text, re.IGNORECASE) is not None
