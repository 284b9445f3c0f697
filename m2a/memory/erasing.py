"""Erasing: what goes with a message, a memory, a photo, a conversation, or everything, and how it goes from every row.

What is erased is not withheld, it is no more. Messages that are named go whole, with their earlier versions and the replies to
them. Where a message stays and words of it go (what a memory says, what a reply tells of what is erased), its row is written
anew without them, under its own id. The user's other messages stay as they are, and so do the phrases in which the assistant
words all its replies: what is looked for are the user's own words, and those of memories, captions and names.

A memory that rests on an erased message stays where the user says the same in another message that it rests on, and rests on
that alone from then on; else it goes, with what it had taken the place of. Where the user keeps the memories, it rests on a
message of that day which says so.
"""

from datetime import datetime

from sqlalchemy import delete, select

from m2a.memory import concept_store, conversations
from m2a.memory.erasure_removal import ErasureRemoval
from m2a.memory.forgetting import Forgetter
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.receipts import write_receipt
from m2a.memory.retelling import scrub_notes, told_by, words_left_alone
from m2a.memory.schema import concept, entry, message, metadata, photo
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.titles import retitle_telling
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Erasure, ErasurePreview, Receipt

# What stays of an owner of whom everything is erased: the name, the numbers given out, and what the act leaves.
_KEPT = ("owner", "erasure", "receipt", "outbox", "owner_setting")


def erase(
    unit: UnitOfWork,
    raw: RawMessageStore,
    semantic: SemanticMemoryStore,
    forgetter: Forgetter,
    erased: Erasure,
    now: datetime,
) -> tuple[ErasurePreview, Receipt]:
    """Take it out of every row; what went, and the receipt. The files of its photos are the caller's to remove.

    Raises `NothingToEraseError`. A preview is the same, rolled back.
    """
    work = _Work(raw, semantic, forgetter, unit, now)
    gone = work.everything(erased) if erased.kind == "everything" else work.part(erased)
    return gone, write_receipt(unit, gone, now)


class _Work(ErasureRemoval):
    """One erasure of one owner. What is found to go is noted first, then taken out."""

    def part(self, erased: Erasure) -> ErasurePreview:
        unit = self._unit
        known = self._names()
        self._note_what_is_named(erased)
        kept = self._note_entries(keep_memories=erased.keep_memories)
        retained = self._keep()
        withheld = self._withheld_texts()
        self._note_photos()
        kept = self._without_photos([*kept, *retained])
        captions = self._captions()
        losing = self._concepts_losing()
        records, places = self._number_of_records(), self._places()
        texts = [*withheld, *captions, *concept_store.all_names(unit, losing)]
        texts += [told_by(m.role, m.text) for m in self._messages.values()]
        texts += [f"{e.text} {e.caption}" for e in self._entries.values()]

        self._forget_vectors()
        self._delete_photos()
        emptied = self._delete_messages()
        self._semantic.erase(unit, self._entries)
        for reduced in kept:
            self._semantic.reduce(unit, reduced, self._by)
        telling = words_left_alone(unit, texts)
        concept_store.delete_unsaid(unit, losing, telling)
        keys = self._keys()
        # What tells of something forgotten was withheld with it.
        self._withhold_more(set() if erased.kind == "forgotten" else self._retold(telling, *places))
        changed = self._rewrite_messages()
        retitle_telling(unit, telling)
        scrub_notes(
            unit, telling, set(keys), self._photos, self._forgettings, {one.message.message_id for one in changed}
        )
        left = self._names()
        return ErasurePreview(
            erased,
            tuple(self._messages.values()),
            tuple(changed),
            tuple(self._entries.values()),
            tuple(one for one in kept if one.memory_id not in self._retained),
            tuple(sorted(self._photos)),
            tuple(captions),
            tuple(name for key, (name, _) in known.items() if key not in left or left[key][0] != name),
            tuple(name for key, (name, shown) in known.items() if shown and left.get(key) == (name, False)),
            tuple(emptied),
            records,
            tuple(one for one in kept if one.memory_id in self._retained),
        )

    def everything(self, erased: Erasure) -> ErasurePreview:
        unit = self._unit
        self._messages = self._logged(select(message.c.message_id).where(unit.owns(message)))
        self._entries = self._recorded(select(entry.c.memory_id).where(unit.owns(entry)))
        photos = unit.execute(select(photo.c.photo_id, photo.c.caption).where(unit.owns(photo))).all()
        self._photos = {row.photo_id for row in photos}
        names = unit.scalars(select(concept.c.name).where(unit.owns(concept)).order_by(concept.c.concept_id))
        gone = ErasurePreview(
            erased,
            tuple(self._messages.values()),
            memories=tuple(self._entries.values()),
            photo_ids=tuple(sorted(self._photos)),
            captions=tuple(row.caption for row in photos if row.caption),
            names=tuple(names),
            conversations=tuple(conversations.listed(unit)),
            records=self._number_of_records(),
        )
        self._forget_vectors()
        self._let_go(self._messages)
        for table in metadata.tables.values():
            if "owner" in table.c and table.name not in _KEPT:
                unit.execute(delete(table).where(unit.owns(table)))
        unit.tell_index("message", self._messages)
        unit.tell_index("entry", self._entries)
        unit.tell_index("photo", self._photos)
        return gone
