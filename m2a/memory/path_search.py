"""One path of a search: the hits of the index, and the records that SQL confirms for them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from typing import Any

from sqlalchemy import CompoundSelect, bindparam, false, select, true, union_all

from m2a.memory.index_rows import IndexHit, PhotoHit
from m2a.memory.raw_message_store import RawMessageStore, message_versions
from m2a.memory.schema import entry, message
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.sql import is_in_parameter, list_parameter
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import RecordKey, RecordKind

Fetched = Sequence[IndexHit] | Sequence[PhotoHit]

PATH_DEPTH = 10  # as published: the best ten of each path are fused

# Hits to fetch beyond the depth, because some may be stale, and all ties at the end are needed to order them. BM25 needs more,
# because its scores have long ties.
_SPARE = 6
_SPARE_OF_TIES = 0.5
_GROWTH = 8  # the factor by which the limit is raised if that was not enough


@dataclass(slots=True)
class PathSearch:
    """The state of one path: the first `limit` hits of the index, and those of them that SQL confirms, best first."""

    max_limit: int
    depth: int
    has_ties: bool = False
    limit: int = 0
    hits: Fetched = ()
    ranking: dict[RecordKey, IndexHit] = field(default_factory=dict)

    def raise_limit(self) -> int:
        """Raises the limit and returns it."""
        spare = max(_SPARE, round(_SPARE_OF_TIES * self.depth)) if self.has_ties else _SPARE
        self.limit = min(self.limit * _GROWTH, self.max_limit) if self.limit else self.depth + spare
        return self.limit

    @property
    def first(self) -> Iterable[RecordKey]:
        """The first records of the ranking, up to the depth of the path."""
        return islice(self.ranking, self.depth)

    @property
    def is_settled(self) -> bool:
        """Whether more hits cannot change the first records: enough are confirmed, and no tie continues beyond the hits."""
        if len(self.hits) < self.limit or self.limit >= self.max_limit:
            return True
        if len(self.ranking) < self.depth:
            return False
        last = next(islice(self.ranking.values(), self.depth - 1, None))
        return last.score > self.hits[-1].score


class Confirmation:
    """Confirms hits in SQL: the record must be this owner's, live, and of the version that was found.

    With `before`, messages must come before that message; with `within`, entries must be among these ids. Messages that the user
    edited are not confirmed, because newer versions replace them.
    """

    def __init__(
        self,
        raw: RawMessageStore,
        semantic: SemanticMemoryStore,
        kinds: Collection[RecordKind],
        before: int | None,
        within: Collection[int] | None = None,
    ) -> None:
        self._raw = raw
        self._semantic = semantic
        self._kinds = kinds
        self._before = before
        self._within = None if within is None else frozenset(within)
        self._versions: dict[RecordKey, int] = {}
        self._looked_up: set[RecordKey] = set()
        self._edited: frozenset[int] | None = None

    def confirm(self, unit: UnitOfWork, searches: Sequence[PathSearch], fetched: Sequence[Fetched]) -> None:
        """Stores the fetched hits in each of the searches, and the confirmed ones in its ranking."""
        records_by_photo = self._records_by_photo(
            unit, {hit.photo_id for hits in fetched for hit in hits if isinstance(hit, PhotoHit)}
        )
        keys = {hit.key for hits in fetched for hit in hits if isinstance(hit, IndexHit)}
        self._look_up(unit, keys.union(*records_by_photo.values()))
        versions = self._versions
        for search, hits in zip(searches, fetched, strict=True):
            search.hits = hits
            search.ranking = {}
            for hit in hits:
                if isinstance(hit, IndexHit):
                    if versions.get(hit.key) == hit.version:
                        search.ranking[hit.key] = hit
                    continue
                for key in records_by_photo.get(hit.photo_id, ()):
                    if key in versions:
                        search.ranking.setdefault(key, IndexHit(key, versions[key], hit.score))

    def _records_by_photo(self, unit: UnitOfWork, photo_ids: Collection[str]) -> Mapping[str, list[RecordKey]]:
        """Returns, by photo, all records that contain it, oldest first."""
        records_by_photo: dict[str, list[RecordKey]] = {}
        if photo_ids and "entry" in self._kinds:
            for photo_id, memory_ids in self._semantic.with_photos(unit, photo_ids).items():
                records_by_photo.setdefault(photo_id, []).extend(RecordKey("entry", number) for number in memory_ids)
        if photo_ids and "message" in self._kinds:
            for photo_id, message_ids in self._raw.with_photos(unit, photo_ids).items():
                records_by_photo.setdefault(photo_id, []).extend(RecordKey("message", number) for number in message_ids)
        return records_by_photo

    def in_scope(self, unit: UnitOfWork, keys: Iterable[RecordKey]) -> list[RecordKey]:
        """Returns the keys that this search may return, whether or not the records exist."""
        if self._edited is None:
            self._edited = frozenset(self._raw.edited(unit)) if "message" in self._kinds else frozenset()
        before, within, edited = self._before, self._within, self._edited
        return [
            key
            for key in keys
            if (
                (within is None or key.record_id in within)
                if key.kind == "entry"
                else (before is None or key.record_id < before) and key.record_id not in edited
            )
        ]

    def _look_up(self, unit: UnitOfWork, keys: Iterable[RecordKey]) -> None:
        """Reads the versions of the live records among the keys."""
        new = set(keys) - self._looked_up
        self._looked_up |= new
        if in_scope := self.in_scope(unit, new):
            self._versions |= _record_versions(unit, in_scope)


def _record_versions(unit: UnitOfWork, keys: Collection[RecordKey]) -> dict[RecordKey, int]:
    """Returns the versions of the live entries among the keys, and of the messages of which something remains."""
    dialect = unit.dialect
    rows = unit.execute(
        _versions_statement(dialect),
        {
            "owner": unit.owner,
            "memory_ids": list_parameter(dialect, [key.record_id for key in keys if key.kind == "entry"]),
            "message_ids": list_parameter(dialect, [key.record_id for key in keys if key.kind == "message"]),
        },
    ).all()
    return {
        RecordKey("entry" if is_entry else "message", record_id): version
        for is_entry, record_id, version, is_searchable in rows
        if is_searchable
    }


@cache
def _versions_statement(dialect: str) -> CompoundSelect[Any]:
    # `alive` is selected instead of being a condition, which would make SQLite scan all live entries.
    entries = select(true(), entry.c.memory_id, entry.c.version, entry.c.alive).where(
        entry.c.owner == bindparam("owner"), is_in_parameter(dialect, entry.c.memory_id, "memory_ids")
    )
    messages = message_versions(false()).where(
        message.c.owner == bindparam("owner"), is_in_parameter(dialect, message.c.message_id, "message_ids")
    )
    return union_all(entries, messages)
