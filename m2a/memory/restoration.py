"""Restores memories that the rules of schema version 1 wrongly replaced, from the raw log: `verify` reports them, `repair`
restores them.

Those rules replaced a statement with another that looked similar ("I speak Polish." with "I speak Italian."), and joined two
statements into a text that nobody had said ("My brother Ivo is 29. My brother Sam is 29."). What the user really corrected
stays corrected; if that is uncertain, both stay live. What was forgotten stays forgotten.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import select

from m2a.memory import concept_store
from m2a.memory.attribution import Attribution
from m2a.memory.database import Database
from m2a.memory.forgetting import Forgetter
from m2a.memory.migrations import LAST_HISTORY_OF_VERSION_1
from m2a.memory.quotations import matching_sentences, sentence_is_stated, sentence_spans
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import entry_history, setting
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.sql import grouped
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN
from m2a.memory.words import finished_words
from m2a.types import Concept, ConceptMention, EntryDraft, EvidenceRange, MemoryEntry, Message

_RULES = "offline rules"
_WHO = "repair"
_CORRECTION = re.compile(
    r"\b(?:no|nope|not|n't|actually|correction|wrong|mistake|meant|sorry|instead|now|nowadays|chang(?:e|ed|es)|moved|switched|"
    r"sold|became|any ?more|no longer|used to|nein|doch|jetzt|nicht mehr)\b|n't\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Repair:
    """One wrong replacement and its repair."""

    memory_id: int
    restored: tuple[int, ...]
    never_said: bool
    added: tuple[int, ...] = ()

    def faults(self) -> list[str]:
        if self.never_said:
            return [f"Memory {self.memory_id} states something that nobody said; `m2a repair` restores what was said."]
        return [
            f"Memory {older} was wrongly replaced by memory {self.memory_id}, which says something else; `m2a repair` "
            "restores it."
            for older in self.restored
        ]

    def done(self) -> list[str]:
        sentences = [
            f"Restored memory {older}, which memory {self.memory_id} had wrongly replaced." for older in self.restored
        ]
        if self.never_said:
            instead = f"; what was said is now memory {' and '.join(map(str, self.added))}" if self.added else ""
            sentences.append(f"Removed memory {self.memory_id}, which stated something that nobody had said{instead}.")
        return sentences


def wrongly_replaced(database: Database, owner: str) -> list[str]:
    """Returns a sentence for each fault that `restore_wrongly_replaced` would repair. Changes nothing."""
    with database.write(owner) as unit:
        repairs = _Restorer(unit, datetime.now(UTC)).restore()
        unit.rollback()
    return [sentence for repair in repairs for sentence in repair.faults()]


def restore_wrongly_replaced(database: Database, owner: str, now: datetime) -> list[str]:
    """Restores what the user said. Returns a sentence for each repair. A second call has no effect."""
    with database.write(owner) as unit:
        repairs = _Restorer(unit, now).restore()
    return [sentence for repair in repairs for sentence in repair.done()]


class _Restorer:
    """Checks and repairs the replacements of one owner, oldest first."""

    def __init__(self, unit: UnitOfWork, now: datetime) -> None:
        self._unit = unit
        self._raw = RawMessageStore()
        self._semantic = SemanticMemoryStore()
        self._forgetter = Forgetter(self._raw, self._semantic)
        self._by = Attribution(_WHO, "", now)

    def restore(self) -> list[_Repair]:
        repairs = []
        for successor_id, older_ids in sorted(self._replacements().items()):
            newer = self._semantic.get(self._unit, [successor_id])
            newer |= self._semantic.superseded(self._unit, [successor_id])
            older = self._semantic.superseded(self._unit, older_ids)
            if successor_id in newer and (repair := self._repair(newer[successor_id], list(older.values()))):
                repairs.append(repair)
        return repairs

    def _replacements(self) -> dict[int, list[int]]:
        """Returns, by the id of the replacing entry, the ids of the entries that the rules of version 1 replaced with it."""
        last = self._unit.scalar(select(setting.c.value).where(setting.c.key == LAST_HISTORY_OF_VERSION_1))
        rows = self._unit.execute(
            select(entry_history.c.successor_id, entry_history.c.memory_id)
            .where(
                self._unit.owns(entry_history),
                entry_history.c.change == "superseded",
                entry_history.c.who == _RULES,
                entry_history.c.history_id <= int(last or 0),
            )
            .order_by(entry_history.c.history_id)
        )
        return grouped(rows)

    def _repair(self, newer: MemoryEntry, older: Sequence[MemoryEntry]) -> _Repair | None:
        own = self._evidence_from_user([newer])
        evidence = [*own, *self._evidence_from_user(older)]
        concepts = [c for c in concept_store.concepts(self._unit) if c.concept_id in newer.concept_ids]
        sentences = [newer.text[slice(*span)] for span in sentence_spans(newer.text)]
        if all(sentence_is_stated(sentence, evidence, concepts) for sentence in sentences):
            stating = [
                message.text[slice(*span)] for message in own for span in matching_sentences(newer.text, message.text)
            ]
            if any(map(_CORRECTION.search, stating)):
                return None
            restored = self._revive(older, concepts)
            return _Repair(newer.memory_id, restored, never_said=False) if restored else None
        self._semantic.withdraw(self._unit, newer.memory_id, self._by)
        restored = self._revive(older, concepts)
        stated_sentences = [sentence for sentence in sentences if sentence_is_stated(sentence, own, concepts)]
        added = [self._add(newer, draft) for draft in self._drafts(newer, stated_sentences, own, restored, concepts)]
        return _Repair(newer.memory_id, restored, never_said=True, added=tuple(i for i in added if i is not None))

    def _revive(self, older: Sequence[MemoryEntry], concepts: Sequence[Concept]) -> tuple[int, ...]:
        """Revives the entries, and links them to the concepts that they name, since version 1 had removed these links.

        Returns the ids of the revived entries.
        """
        ids = [entry.memory_id for entry in older]
        self._semantic.revive(self._unit, ids, self._by)
        revived = self._semantic.get(self._unit, ids)
        for memory_id, entry in revived.items():
            for mention in _mentions(entry.text, concepts):
                last = entry.evidence_ids[-1].last
                concept_store.link(self._unit, memory_id, mention, entry.photo_ids, _WHO, last)
        return tuple(revived)

    def _drafts(
        self,
        newer: MemoryEntry,
        stated_sentences: Sequence[str],
        own: Sequence[Message],
        older_ids: Sequence[int],
        concepts: Sequence[Concept],
    ) -> list[EntryDraft]:
        """Returns drafts of what the messages of a made-up entry really say.

        These are the sentences of the entry that the message says, or else the message's own sentences.
        """
        drafts = []
        for message in own:
            texts = [sentence for sentence in stated_sentences if sentence_is_stated(sentence, [message], concepts)]
            if not texts:
                whole = " ".join(message.text[slice(*span)] for span in matching_sentences(newer.text, message.text))
                texts = [whole] if whole else []
            corrects = older_ids[0] if len(older_ids) == 1 and _CORRECTION.search(message.text) else None
            drafts += [
                EntryDraft(
                    text,
                    (EvidenceRange(message.message_id, message.message_id),),
                    newer.kind,
                    photo_ids=tuple(photo_id for photo_id in newer.photo_ids if photo_id in message.photos),
                    concepts=tuple(_mentions(text, concepts)),
                    happened=newer.happened if len(texts) == 1 else None,
                    corrects=corrects,
                )
                for text in texts
            ]
        return drafts

    def _add(self, newer: MemoryEntry, draft: EntryDraft) -> int | None:
        """Adds an entry. Returns its id, or None if it is already remembered or was forgotten."""
        if self._semantic.saying(self._unit, draft.text) is not None:
            return None
        if FORGOTTEN in draft.text or self._forgetter.is_forgotten(self._unit, [draft.text])[0]:
            return None
        by = replace(self._by, now=newer.recorded_at)
        return self._semantic.add(self._unit, draft, by).memory_id

    def _evidence_from_user(self, entries: Sequence[MemoryEntry]) -> list[Message]:
        ranges = [span for entry in entries for span in entry.evidence_ids]
        return [m for m in self._raw.in_ranges(self._unit, ranges) if m.role == "user"]


def _mentions(text: str, concepts: Sequence[Concept]) -> list[ConceptMention]:
    words = set(finished_words(text))
    return [
        ConceptMention(name=concept.name, kind=concept.kind)
        for concept in concepts
        if set(finished_words(concept.name)) <= words
    ]
