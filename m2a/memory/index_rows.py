"""The rows and hits of the index, and their form in Milvus."""

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
    """The row of an entry or a message."""

    key: RecordKey
    version: int
    vector: np.ndarray
    words: Sequence[str]


@dataclass(frozen=True, slots=True)
class PhotoRow:
    """The row of a photo. `word_vector` is None if words are compared with `vector`."""

    photo_id: str
    vector: np.ndarray
    word_vector: np.ndarray | None


class IndexHit(NamedTuple):
    """A record that was found. `score` is the cosine or BM25 score. `matched` is the share of the query's words that it contains,
    for BM25 only."""

    key: RecordKey
    version: int
    score: float
    matched: float = 1.0


class PhotoHit(NamedTuple):
    """A photo that was found. `score` is the cosine."""

    photo_id: str
    score: float


_FILTERS: Mapping[frozenset[str], str] = {
    frozenset({"entry"}): 'kind == "entry"',
    frozenset({"message"}): 'kind == "message"',
    frozenset({"entry", "message"}): "",
}


def filter_for(kinds: Collection[RecordKind], memory_ids: Collection[int] | None = None) -> str:
    """Returns Milvus' filter for records of these kinds, or for these entries. A filter never contains text from outside."""
    if memory_ids is not None:
        return f"key in {json.dumps([row_key(RecordKey('entry', int(number))) for number in sorted(memory_ids)])}"
    try:
        return _FILTERS[frozenset(kinds)]
    except KeyError:
        raise ValueError(f"{sorted(kinds)!r} are not kinds of records; use entry, message or both.") from None


def text_entity(row: TextRow) -> dict[str, Any]:
    """Returns an entry or a message in Milvus' form."""
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


def photo_entity(photo_id: str, vector: np.ndarray | None) -> dict[str, Any]:
    """Returns a photo in Milvus' form. Raises `ValueError` if it is not a photo id."""
    if not is_photo_id(photo_id):
        raise ValueError(f"{photo_id!r} is not a photo id of 64 hexadecimal digits.")
    return {"key": photo_id, "version": 1, "vector": vector}


def row_key(key: RecordKey) -> str:
    """Returns the key of a record's row, such as `entry:7`."""
    kind, record_id = key
    return f"{kind}:{record_id}"


def hits_in(rows: "HybridHits", query_words: frozenset[str] = frozenset()) -> list[IndexHit]:
    """Returns Milvus' answer as hits, best first. `query_words` are those of a BM25 query."""
    hits = []
    for key, distance, row in zip(rows.ids, rows.distances, rows, strict=True):
        kind, _, number = key.partition(":")
        entity = row["entity"]
        matched = len(query_words.intersection(entity["words"].split())) / len(query_words) if query_words else 1.0
        hits.append(IndexHit(RecordKey(kind, int(number)), entity["version"], _rounded(distance), matched))
    return sorted(hits, key=_order)


def photo_hits_in(rows: "HybridHits") -> list[PhotoHit]:
    """Returns Milvus' answer as photos, best first."""
    pairs = zip(rows.ids, rows.distances, strict=True)
    return sorted((PhotoHit(photo_id, _rounded(distance)) for photo_id, distance in pairs), key=photo_order)


def _rounded(score: float) -> float:
    """Returns the score without the last bits, in which equal records differ, so that they are ordered by id."""
    return round(score, 5)


def _order(hit: IndexHit) -> tuple[float, RecordKey]:
    return -hit.score, hit.key


def photo_order(hit: PhotoHit) -> tuple[float, str]:
    return -hit.score, hit.photo_id
