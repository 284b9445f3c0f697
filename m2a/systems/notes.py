"""The notes that a system makes of a dialogue: texts in a file of the run, and their vectors in its database.

Each time that messages are taken in, the file gets a line, so that a system has its notes when it is opened again.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from pydantic import TypeAdapter

from m2a.memory.embedding_cache import EmbeddingCache
from m2a.systems.shared import Memory
from m2a.types.errors import UserError

Item = TypeVar("Item")


class NotTakenInError(UserError):
    """The notes do not cover all messages of the dialogue; the error message counts both."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note in one of the system's stores. A search compares its `text`; it rests on the messages `message_ids`."""

    store: str
    text: str
    message_ids: tuple[int, ...]
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _TakenIn:
    """A line of the file. `message_ids` include messages without notes."""

    message_ids: tuple[int, ...]
    notes: tuple[Note, ...]


_LINE = TypeAdapter(_TakenIn)


class Notes:
    """The notes of one memory by store, in the order written. Safe to search from threads."""

    def __init__(self, memory: Memory, system: str, *, without_vectors: Collection[str] = ()) -> None:
        """Reads the earlier notes of the system. The stores in `without_vectors` cannot be searched by `nearest`."""
        self._system = system
        self._without_vectors = without_vectors
        self._memory = memory
        self._file = memory.shared.folder / "notes" / f"{system}-{memory.owner}.jsonl"
        self._stores: dict[str, list[Note]] = defaultdict(list)
        self._matrices: dict[str, np.ndarray] = {}
        self._message_ids: set[int] = set()
        for line in self._file.read_bytes().splitlines() if self._file.exists() else ():
            self._include(_LINE.validate_json(line))

    def add(self, message_ids: Sequence[int], notes: Sequence[Note]) -> None:
        """Encodes and adds the notes of these messages, if there are any, and marks the messages as taken in."""
        taken_in = _TakenIn(tuple(message_ids), tuple(notes))
        self._vectors([note.text for note in notes if note.store not in self._without_vectors])
        self._file.parent.mkdir(exist_ok=True)
        with self._file.open("ab") as stream:
            stream.write(_LINE.dump_json(taken_in) + b"\n")
        self._include(taken_in)

    @property
    def stores(self) -> list[str]:
        """The names of the stores with notes, in the order of their first notes."""
        return list(self._stores)

    def in_store(self, store: str) -> Sequence[Note]:
        return self._stores.get(store, [])

    def vector(self, text: str) -> np.ndarray:
        """Returns the vector of a query."""
        vector: np.ndarray = self._memory.shared.text_encoder.encode([text])[0]
        return vector

    def nearest(self, store: str, query: np.ndarray, k: int) -> list[tuple[Note, float]]:
        """Returns the k notes of the store nearest to the vector, with their cosines; ties in the order written."""
        notes = self.in_store(store)[:]
        if not notes:
            return []
        if store in self._without_vectors:
            raise ValueError(f"The store {store!r} of {self._system} has no vectors.")
        matrix = self._matrices.get(store)
        encoded = 0 if matrix is None else len(matrix)
        if encoded < len(notes):
            added = self._vectors([note.text for note in notes[encoded:]])
            matrix = added if matrix is None else np.concatenate([matrix, added])
            self._matrices[store] = matrix
        assert matrix is not None
        cosines = matrix[: len(notes)] @ query
        order = np.argsort(-cosines, kind="stable")[:k]
        return [(notes[row], float(cosines[row])) for row in order]

    def resting_on(self, store: str, message_ids: Iterable[int]) -> list[Note]:
        """Returns the notes of the store that rest on any of the messages, in the order of the messages."""
        ordered_ids = list(dict.fromkeys(message_ids))
        by_message: dict[int, list[Note]] = defaultdict(list)
        for note in self.in_store(store):
            for message_id in note.message_ids:
                by_message[message_id].append(note)
        return list({id(note): note for message_id in ordered_ids for note in by_message.get(message_id, ())}.values())

    def check(self) -> None:
        """Raises `NotTakenInError` unless these notes cover every message of the raw log.

        Without this check, taking in and answering in different stores would look like an empty memory.
        """
        count = self._memory.message_count()
        if count == 0 or count != len(self._message_ids):
            raise NotTakenInError(
                f"The dialogue has {count} messages, and the notes of {self._system} cover {len(self._message_ids)}: "
                "it did not take this dialogue in, or it wrote its notes elsewhere."
            )

    def _include(self, taken_in: _TakenIn) -> None:
        self._message_ids.update(taken_in.message_ids)
        for note in taken_in.notes:
            self._stores[note.store].append(note)

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        shared = self._memory.shared
        return EmbeddingCache(shared.database).texts(shared.text_encoder, texts)


def in_turn(rankings: Sequence[Sequence[Item]]) -> list[Item]:
    """Returns the first item of each ranking, then the second of each, and so on."""
    longest = max(map(len, rankings), default=0)
    return [ranking[rank] for rank in range(longest) for ranking in rankings if rank < len(ranking)]


def messages_of(notes: Iterable[Note]) -> tuple[int, ...]:
    """Returns the messages that the notes rest on, in order, each once."""
    return tuple(dict.fromkeys(message_id for note in notes for message_id in note.message_ids))
