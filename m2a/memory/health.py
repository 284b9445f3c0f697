"""Checks one owner's memory for possible problems, part by part, so that it is never loaded as a whole."""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Any

from sqlalchemy import Column, Row, Select, delete, func, insert, select

from m2a.memory import reply_sources
from m2a.memory.schema import dismissed_finding, entry, entry_evidence, entry_photo, message, photo, trace
from m2a.memory.sql import grouped
from m2a.memory.stores import Stores
from m2a.memory.suspicious import reads_like_an_instruction
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import forgotten_photos
from m2a.memory.words import STOP_WORDS, finished_words
from m2a.types import Finding

_ENTRIES = 500
_TRACES = 200
_PHOTOS = 500

_WORD = re.compile(r"\w+")
_CONTRACTIONS = (
    (re.compile(r"\bcan['’]?t\b"), "can not"),
    (re.compile(r"\bwon['’]t\b"), "will not"),
    (re.compile(r"n['’]t\b"), " not"),
    (re.compile(r"['’]m\b"), " am"),
    (re.compile(r"['’]re\b"), " are"),
    (re.compile(r"['’]ve\b"), " have"),
    (re.compile(r"['’]ll\b"), " will"),
)
# Words that do not change the meaning of a statement. All others may: "not", "my", "from", "was".
_EMPTY = frozenset("a an the just really very also too please so that and".split())


class HealthCheck:
    """One check of a memory. `findings` holds what was found so far, except what the user has dismissed.

    Once the check is complete, `memories` is the number of memories checked, and `unused` the number of those that no answer
    has used yet.
    """

    def __init__(self, stores: Stores, owner: str) -> None:
        self.findings: list[Finding] = []
        self.memories = 0
        self.unused = 0
        self._stores = stores
        self._database = stores.database
        self._owner = owner
        self._live: set[int] = set()
        self._by_statement: dict[bytes, list[int]] = {}
        with self._database.read(owner) as unit:
            self._dismissed = _dismissed(unit)

    def steps(self) -> Iterator[tuple[int, int]]:
        """Runs the check step by step. Yields (checked, total) record counts."""
        parts = (
            (_ENTRY_PAGES, self._check_entries),
            (_TRACE_PAGES, self._check_changes),
            (_PHOTO_PAGES, self._check_photos),
        )
        with self._database.read(self._owner) as unit:
            total, done = sum(_count(unit, page, column) for (page, column, _), _ in parts), 0
            used = reply_sources.used_memories(unit)
        for (page, column, size), check in parts:
            after: Any = "" if column is photo.c.photo_id else 0
            while rows := self._page(page, column, after, size):
                after = rows[-1][0]
                check(rows)
                done += len(rows)
                yield min(done, total), total
        for memory_ids in self._by_statement.values():
            if len(memory_ids) > 1:
                self._note(Finding("duplicate", tuple(memory_ids)))
        self.memories, self.unused = len(self._live), len(self._live - used)

    def _page(self, page: Select[Any], column: Column[Any], after: object, size: int) -> list[Row[Any]]:
        with self._database.read(self._owner) as unit:
            rows = page.where(unit.owns(column.table), column > after).order_by(column).limit(size)
            return list(unit.execute(rows).all())

    def _check_entries(self, rows: list[Row[Any]]) -> None:
        ids = [row.memory_id for row in rows]
        self._live |= set(ids)
        with self._database.read(self._owner) as unit:
            evidence = unit.rows_among(_EVIDENCE, ids)
            shown: dict[int, list[str]] = grouped(unit.rows_among(_PHOTOS_OF, ids))
            ends = {end for row in evidence for end in (row.first_id, row.last_id)}
            existing_messages = {row[0] for row in unit.rows_among(_MESSAGES, ends)}
        supported = {row.memory_id for row in evidence}
        broken = {row.memory_id for row in evidence if not {row.first_id, row.last_id} <= existing_messages}
        for row in rows:
            if row.memory_id not in supported or row.memory_id in broken:
                self._note(Finding("unsupported", (row.memory_id,)))
            if row.corrects is not None:
                self._note(Finding("corrected", (row.corrects, row.memory_id)))
            if any(reads_like_an_instruction(text, row.rests_on) for text in (row.text, row.caption)):
                self._note(Finding("injection", (row.memory_id,)))
            if statement := same_words(row.text):
                photo_ids = sorted(shown.get(row.memory_id, ()))
                content = json.dumps([statement, row.happened_first, row.happened_last, photo_ids])
                self._by_statement.setdefault(hashlib.sha256(content.encode()).digest(), []).append(row.memory_id)

    def _check_changes(self, rows: list[Row[Any]]) -> None:
        """Notes memories that were added although they may contradict others, which were kept too."""
        pairs: list[tuple[int, int]] = []
        for row in rows:
            for change in json.loads(row.steps)["changes"]:
                if not change.get("undone") and change.get("memory_id"):
                    pairs += [(rival, change["memory_id"]) for rival in change.get("rival_ids", ())]
        for older, newer in pairs:
            if {older, newer} <= self._live:
                self._note(Finding("contradiction", (older, newer)))

    def _check_photos(self, rows: list[Row[Any]]) -> None:
        ids = [row.photo_id for row in rows]
        with self._database.read(self._owner) as unit:
            forgotten = forgotten_photos(unit, ids)
        missing = self._stores.retrieval().photo_vectors.missing(ids)
        for row in rows:
            if row.photo_id not in forgotten and (not row.captioned_by or row.photo_id in missing):
                self._note(Finding("photo", photo_id=row.photo_id))

    def _note(self, finding: Finding) -> None:
        if (finding.kind, finding.subject) not in self._dismissed:
            self.findings.append(finding)


def same_words(text: str) -> list[str]:
    """Returns the significant words of a text.

    They are equal for texts that differ only in inflections, articles, contractions and punctuation.
    """
    folded = text.casefold()
    for contraction, written_out in _CONTRACTIONS:
        folded = contraction.sub(written_out, folded)
    kept: list[str] = []
    for word in _WORD.findall(folded):
        if word not in _EMPTY:
            kept += [word] if word in STOP_WORDS else finished_words(word)
    return kept


def dismiss(unit: UnitOfWork, finding: Finding) -> None:
    """Records that a finding is not a problem, so that later checks do not report it again."""
    if (finding.kind, finding.subject) not in _dismissed(unit):
        unit.execute(insert(dismissed_finding).values(owner=unit.owner, kind=finding.kind, subject=finding.subject))


def forget_dismissed_photos(unit: UnitOfWork, photo_ids: Collection[str]) -> None:
    """Deletes the dismissed findings about erased photos, because a photo's id is a hash of its content."""
    about_photos = dismissed_finding.c.subject.in_(sorted(photo_ids))
    unit.execute(delete(dismissed_finding).where(unit.owns(dismissed_finding), about_photos))


def _count(unit: UnitOfWork, page: Select[Any], column: Column[Any]) -> int:
    rows = page.where(unit.owns(column.table)).subquery()
    return unit.scalar(select(func.count()).select_from(rows)) or 0


def _dismissed(unit: UnitOfWork) -> set[tuple[str, str]]:
    rows: Iterable[Any] = unit.execute(
        select(dismissed_finding.c.kind, dismissed_finding.c.subject).where(unit.owns(dismissed_finding))
    )
    return {(kind, subject) for kind, subject in rows}


_EVIDENCE = (entry_evidence.c.memory_id, entry_evidence.c.first_id, entry_evidence.c.last_id)
_PHOTOS_OF = (entry_photo.c.memory_id, entry_photo.c.photo_id)
_MESSAGES = (message.c.message_id,)
_ENTRY_COLUMNS = ("memory_id", "text", "caption", "happened_first", "happened_last", "rests_on", "corrects")
_ENTRY_PAGES = (select(*(entry.c[name] for name in _ENTRY_COLUMNS)).where(entry.c.alive), entry.c.memory_id, _ENTRIES)
_TRACE_PAGES = (select(trace.c.message_id, trace.c.steps).where(trace.c.changes > 0), trace.c.message_id, _TRACES)
_PHOTO_PAGES = (select(photo.c.photo_id, photo.c.captioned_by), photo.c.photo_id, _PHOTOS)
