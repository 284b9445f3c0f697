"""Erases a message, a memory, a photo, a conversation or everything, from every row.

Erased content is not just withheld: it no longer exists. A message that the user names is erased as a whole, with its earlier
versions and the replies to it. A message that only repeats erased content (the text of a memory, or what a reply says about
it) stays: its row is rewritten under the same id without those words. The user's other messages stay as they are, and so do
the stock phrases of the assistant's replies, because the search for repetitions looks for the words of the user's messages,
of memories, of captions and of names.

A memory that rests on an erased message stays if the user says the same in other evidence, and from then on rests on that
alone. Otherwise it is erased, with the entries that it had superseded. If the user chooses to keep memories, each gets a new
message as its evidence, which says that the user keeps it.
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

# The tables that survive erasing everything: the owner's name and last ids, and what the erasure itself leaves.
_KEPT = ("owner", "erasure", "receipt", "outbox", "owner_setting")


def erase(
    unit: UnitOfWork,
    raw: RawMessageStore,
    semantic: SemanticMemoryStore,
    forgetter: Forgetter,
    erasure: Erasure,
    now: datetime,
) -> tuple[ErasurePreview, Receipt]:
    """Erases something from every row. Returns what was removed, and the receipt.

    The caller must delete the photo files. To preview an erasure, roll it back. Raises `NothingToEraseError`.
    """
    work = _Work(raw, semantic, forgetter, unit, now)
    removed = work.everything(erasure) if erasure.kind == "everything" else work.part(erasure)
    return removed, write_receipt(unit, removed, now)


class _Work(ErasureRemoval):
    """One erasure for one owner: first determines everything to be erased, then removes it."""

    def part(self, erasure: Erasure) -> ErasurePreview:
        unit = self._unit
        names_before = self._names()
        self._note_what_is_named(erasure)
        supported = self._note_entries(keep_memories=erasure.keep_memories)
        retained = self._keep()
        withheld = self._withheld_texts()
        self._note_photos()
        kept = self._without_photos([*supported, *retained])
        captions = self._captions()
        losing = self._concepts_losing()
        records, places = self._number_of_records(), self._places()
        texts = [*withheld, *captions, *concept_store.all_names(unit, losing)]
        texts += [told_by(m.role, m.text) for m in self._messages.values()]
        texts += [f"{e.text} {e.caption}" for e in self._entries.values()]

        waiting = self._waiting(self._messages)
        self._forget_vectors()
        self._delete_photos()
        emptied = self._delete_messages()
        self._semantic.erase(unit, self._entries)
        for reduced in kept:
            self._semantic.reduce(unit, reduced, self._by)
        telling = words_left_alone(unit, texts)
        concept_store.delete_unsaid(unit, losing, telling)
        keys = self._keys()
        # Forgetting already withheld everything that repeats the forgotten content.
        self._withhold_more(set() if erasure.kind == "forgotten" else self._retold(telling, *places))
        changed = self._rewrite_messages()
        retitle_telling(unit, telling)
        scrub_notes(
            unit,
            telling,
            set(keys),
            self._photos,
            self._forgettings,
            {rewritten.message.message_id for rewritten in changed},
        )
        names_after = self._names()
        return ErasurePreview(
            erasure,
            tuple(self._messages.values()),
            tuple(changed),
            tuple(self._entries.values()),
            tuple(memory for memory in kept if memory.memory_id not in self._retained),
            tuple(sorted(self._photos)),
            tuple(captions),
            self._without_named(
                name for key, (name, _) in names_before.items() if key not in names_after or names_after[key][0] != name
            ),
            tuple(
                name for key, (name, shown) in names_before.items() if shown and names_after.get(key) == (name, False)
            ),
            tuple(emptied),
            records,
            tuple(memory for memory in kept if memory.memory_id in self._retained),
            tuple(waiting),
        )

    def everything(self, erasure: Erasure) -> ErasurePreview:
        unit = self._unit
        self._messages = self._logged(select(message.c.message_id).where(unit.owns(message)))
        self._entries = self._recorded(select(entry.c.memory_id).where(unit.owns(entry)))
        photos = unit.execute(select(photo.c.photo_id, photo.c.caption).where(unit.owns(photo))).all()
        self._photos = {row.photo_id for row in photos}
        names = unit.scalars(select(concept.c.name).where(unit.owns(concept)).order_by(concept.c.concept_id))
        removed = ErasurePreview(
            erasure,
            tuple(self._messages.values()),
            memories=tuple(self._entries.values()),
            photo_ids=tuple(sorted(self._photos)),
            captions=tuple(row.caption for row in photos if row.caption),
            names=tuple(names),
            conversations=tuple(conversations.listed(unit)),
            records=self._number_of_records(),
            waiting=tuple(self._waiting(self._messages)),
        )
        self._forget_vectors()
        self._let_go(self._messages)
        for table in metadata.tables.values():
            if "owner" in table.c and table.name not in _KEPT:
                unit.execute(delete(table).where(unit.owns(table)))
        unit.tell_index("message", self._messages)
        unit.tell_index("entry", self._entries)
        unit.tell_index("photo", self._photos)
        return removed
