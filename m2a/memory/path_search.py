"""One path of a search: the hits of the index, and which records SQL confirms behind them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from m2a.memory.index import IndexHit, PhotoHit
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.record_versions import record_versions
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import RecordKey, RecordKind

Fetched = Sequence[IndexHit] | Sequence[PhotoHit]

PATH_DEPTH = 10  # as published: the best ten of each path are fused

# A few more than the depth, as some hits may be stale, and ties at the last must be seen to be put in order. Of BM25's half as
# many again, where it was asked for many: its scores tie in long runs.
_SPARE = 6
_SPARE_OF_TIES = 0.5
_MORE = 8  # times as many where that was not enough


class Candidate(NamedTuple):
    """A record as a path found it; `version` is None where a photo led to it."""

    score: float
    matched: float
    version: int | None


@dataclass(slots=True)
class PathSearch:
    """One path's hits so far, and how to get more of them."""

    fetch: Callable[[int], Fetched]
    last_limit: int
    depth: int
    has_ties: bool = False
    limit: int = 0
    hits: Fetched = ()
    ranking: dict[RecordKey, Candidate] = field(default_factory=dict)

    def fetch_more(self) -> None:
        spare = max(_SPARE, round(_SPARE_OF_TIES * self.depth)) if self.has_ties else _SPARE
        self.limit = min(self.limit * _MORE, self.last_limit) if self.limit else self.depth + spare
        self.hits = self.fetch(self.limit)

    @property
    def is_settled(self) -> bool:
        """Nothing further down can get among the first: enough of them are confirmed, and no tie goes on unseen."""
        if len(self.hits) < self.limit or self.limit >= self.last_limit:
            return True
        confirmed = list(self.ranking.values())
        return len(confirmed) >= self.depth and confirmed[self.depth - 1].score > self.hits[-1].score


class Confirmation:
    """Confirms the hits of one search: a record that is this owner's, alive, and of the version that was found.

    Of messages only those before the message `before` are confirmed, where that is given, of entries those `within`. A
    message that the user edited is not: another has taken its place.
    """

    def __init__(
        self,
        raw: RawMessageStore,
        semantic: SemanticMemoryStore,
        owner: str,
        kinds: Collection[RecordKind],
        before: int | None,
        within: Collection[int] | None = None,
    ) -> None:
        self._raw = raw
        self._semantic = semantic
        self._owner = owner
        self._kinds = kinds
        self._before = before
        self._within = None if within is None else frozenset(within)
        self._versions: dict[RecordKey, int] = {}
        self._edited: frozenset[int] | None = None

    def confirm(self, unit: UnitOfWork, search: PathSearch) -> None:
        """Fill the path's ranking with what is confirmed of its hits."""
        found = self._candidates(unit, search.hits)
        self._look_up(unit, found.keys() - self._versions.keys())
        versions = self._versions
        search.ranking = {
            key: candidate._replace(version=versions[key]) if candidate.version is None else candidate
            for key, candidate in found.items()
            if key in versions and candidate.version in (None, versions[key])
        }

    def _candidates(self, unit: UnitOfWork, hits: Fetched) -> dict[RecordKey, Candidate]:
        """Records in the order of the hits; a photo stands for all that hold it, oldest first."""
        photo_ids = [hit.photo_id for hit in hits if isinstance(hit, PhotoHit)]
        holders: dict[RecordKind, dict[str, list[int]]] = {}
        if photo_ids and "entry" in self._kinds:
            holders["entry"] = self._semantic.with_photos(unit, photo_ids)
        if photo_ids and "message" in self._kinds:
            holders["message"] = self._raw.with_photos(unit, photo_ids)
        found: dict[RecordKey, Candidate] = {}
        for hit in hits:
            if isinstance(hit, IndexHit):
                found[hit.key] = Candidate(hit.score, hit.matched, hit.version)
                continue
            for kind, of_photo in holders.items():
                for record_id in of_photo.get(hit.photo_id, ()):
                    found.setdefault(RecordKey(kind, record_id), Candidate(hit.score, 1.0, None))
        return found

    def within_reach(self, unit: UnitOfWork, keys: Iterable[RecordKey]) -> list[RecordKey]:
        """Those among the keys that this search may find, if they are there."""
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
        """The versions of those among the keys that are alive and this owner's."""
        keys = self.within_reach(unit, keys)
        if keys:
            self._versions |= record_versions(unit, keys)
