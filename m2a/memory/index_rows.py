"""What the index holds and what it finds, and both as Milvus has them."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from m2a.memory.keys import is_photo_id
from m2a.types import RecordKey, RecordKind

if TYPE_CHECKING:
    from pymilvus.client.search_result import HybridHits

_LONGEST_WORDS = 60_000  # bytes; Milvus takes 65,535


@dataclass(frozen=True, slots=True)
class TextRow:
    """An entry or a message as the index holds it."""

    key: RecordKey
    version: int
    vector: np.ndarray
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class PhotoRow:
    """`word_vector` is None where words are compared with `vector`."""

    photo_id: str
    vector: np.ndarray
    word_vector: np.ndarray | None


class IndexHit(NamedTuple):
    """`score` is the cosine, or BM25's. `matched` is the share of the query's words that the record holds (BM25 alone)."""

    key: RecordKey
    version: int
    score: float
    matched: float = 1.0


class PhotoHit(NamedTuple):
    """`score` is the cosine."""

    photo_id: str
    score: float


_FILTERS: Mapping[frozenset[str], str] = {
    frozenset({"entry"}): 'kind == "entry"',
    frozenset({"message"}): 'kind == "message"',
    frozenset({"entry", "message"}): "",
}


def filter_for(kinds: Collection[RecordKind], memory_ids: Collection[int] | None = None) -> str:
    """Returns Milvus' filter for records of these kinds, or for these entries. No text from outside gets into a filter."""
    if memory_ids is not None:
        return f"key in {json.dumps([row_key(RecordKey('entry', int(number))) for number in sorted(memory_ids)])}"
    try:
        return _FILTERS[frozenset(kinds)]
    except KeyError:
        raise ValueError(f"{sorted(kinds)!r} are not kinds of records; ask for entry, message or both.") from None


def stored_text(row: TextRow) -> dict[str, Any]:
    """Returns an entry or a message as Milvus stores it."""
    return {
        "key": row_key(row.key),
        "kind": row.key.kind,
        "version": row.version,
        "vector": row.vector,
        "words": _shortened(row.words),
    }


def _shortened(words: Sequence[str]) -> str:
    text = " ".join(words)
    if len(text.encode()) <= _LONGEST_WORDS:
        return text
    return text.encode()[:_LONGEST_WORDS].decode(errors="ignore").rpartition(" ")[0]


def stored_photo(photo_id: str, vector: np.ndarray | None) -> dict[str, Any]:
    """Returns a photo as Milvus stores it. Raises `ValueError` for what is no photo id."""
    if not is_photo_id(photo_id):
        raise ValueError(f"{photo_id!r} is not a photo id of 64 hexadecimal digits.")
    return {"key": photo_id, "version": 1, "vector": vector}


def row_key(key: RecordKey) -> str:
    """Returns the key of a record's row, such as `entry:7`."""
    kind, record_id = key
    return f"{kind}:{record_id}"


def hits_in(rows: "HybridHits", wanted: frozenset[str] = frozenset()) -> list[IndexHit]:
    """Returns Milvus' answer as hits, best first. `wanted` are the words of a query by words."""
    hits = []
    for key, distance, row in zip(rows.ids, rows.distances, rows, strict=True):
        kind, _, number = key.partition(":")
        entity = row["entity"]
        matched = len(wanted.intersection(entity["words"].split())) / len(wanted) if wanted else 1.0
        hits.append(IndexHit(RecordKey(kind, int(number)), entity["version"], _rounded(distance), matched))
    return sorted(hits, key=_order)


def photo_hits_in(rows: "HybridHits") -> list[PhotoHit]:
    """Returns Milvus' answer as photos, best first."""
    found = zip(rows.ids, rows.distances, strict=True)
    return sorted((PhotoHit(photo_id, _rounded(distance)) for photo_id, distance in found), key=photo_order)


def _rounded(score: float) -> float:
    """Equal records differ in the last bits, and equal scores are put in order by id."""
    return round(score, 5)


def _order(hit: IndexHit) -> tuple[float, RecordKey]:
    return -hit.score, hit.key


def photo_order(hit: PhotoHit) -> tuple[float, str]:
    return -hit.score, hit.photo_id
