"""What a system makes of the messages of a dialogue: notes in a file of the run, their vectors in its database.

A file is made of lines, one for each time that something was taken in, so that a system opened again knows what it knew.
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
    """The notes that are asked are not of the messages that were taken in; the message counts both."""


@dataclass(frozen=True, slots=True)
class Note:
    """`store` is the one of the system's stores that it lies in, `text` what it is found by, `message_ids` what it rests on."""

    store: str
    text: str
    message_ids: tuple[int, ...]
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Taken:
    """A line of the file. Messages of which nothing was noted stand in it all the same."""

    message_ids: tuple[int, ...]
    notes: tuple[Note, ...]


_LINE = TypeAdapter(_Taken)


class Notes:
    """The notes of one memory, by store in the order in which they were written. Safe to search from threads."""

    def __init__(self, memory: Memory, system: str, *, without_vectors: Collection[str] = ()) -> None:
        """Reads what the system of that name noted before. Stores `without_vectors` are never asked for what is nearest."""
        self._system = system
        self._without_vectors = without_vectors
        self._memory = memory
        self._file = memory.shared.folder / "notes" / f"{system}-{memory.owner}.jsonl"
        self._stores: dict[str, list[Note]] = defaultdict(list)
        self._matrices: dict[str, np.ndarray] = {}
        self._message_ids: set[int] = set()
        for line in self._file.read_bytes().splitlines() if self._file.exists() else ():
            self._take(_LINE.validate_json(line))

    def add(self, message_ids: Sequence[int], notes: Sequence[Note]) -> None:
        """Keep what was noted of the messages, which is nothing where there are no notes. Encodes the notes."""
        taken = _Taken(tuple(message_ids), tuple(notes))
        self._vectors([note.text for note in notes if note.store not in self._without_vectors])
        self._file.parent.mkdir(exist_ok=True)
        with self._file.open("ab") as opened:
            opened.write(_LINE.dump_json(taken) + b"\n")
        self._take(taken)

    @property
    def stores(self) -> list[str]:
        """The names of the stores that hold a note, in the order of their first one."""
        return list(self._stores)

    def of(self, store: str) -> Sequence[Note]:
        return self._stores.get(store, [])

    def vector(self, text: str) -> np.ndarray:
        """Of a question."""
        vector: np.ndarray = self._memory.shared.text_encoder.encode([text])[0]
        return vector

    def nearest(self, store: str, query: np.ndarray, k: int) -> list[tuple[Note, float]]:
        """The k notes of the store that are nearest to the vector, with their cosine; equal ones in the order written."""
        notes = self.of(store)[:]
        if not notes:
            return []
        if store in self._without_vectors:
            raise ValueError(f"The store {store!r} of {self._system} has no vectors.")
        matrix = self._matrices.get(store)
        known = 0 if matrix is None else len(matrix)
        if known < len(notes):
            more = self._vectors([note.text for note in notes[known:]])
            matrix = more if matrix is None else np.concatenate([matrix, more])
            self._matrices[store] = matrix
        assert matrix is not None
        cosines = matrix[: len(notes)] @ query
        order = np.argsort(-cosines, kind="stable")[:k]
        return [(notes[row], float(cosines[row])) for row in order]

    def resting_on(self, store: str, message_ids: Iterable[int]) -> list[Note]:
        """The notes of the store that rest on any of the messages, in the order of the messages."""
        wanted = list(dict.fromkeys(message_ids))
        by_message: dict[int, list[Note]] = defaultdict(list)
        for note in self.of(store):
            for message_id in note.message_ids:
                by_message[message_id].append(note)
        return list({id(note): note for message_id in wanted for note in by_message.get(message_id, ())}.values())

    def check(self) -> None:
        """Raises `NotTakenInError` unless every message of the raw log was taken in here.

        So a store that memorising and asking do not share is a failure, and never an empty memory.
        """
        said = self._memory.message_count()
        if said == 0 or said != len(self._message_ids):
            raise NotTakenInError(
                f"{self._system} is asked about {said} messages, and its notes are of {len(self._message_ids)}: "
                "it was not told this dialogue, or it kept what it was told elsewhere."
            )

    def _take(self, taken: _Taken) -> None:
        self._message_ids.update(taken.message_ids)
        for note in taken.notes:
            self._stores[note.store].append(note)

    def _vectors(self, texts: Sequence[str]) -> np.ndarray:
        shared = self._memory.shared
        return EmbeddingCache(shared.database).texts(shared.text_encoder, texts)


def in_turn(rankings: Sequence[Sequence[Item]]) -> list[Item]:
    """The first of each ranking, then the second of each, and so on."""
    longest = max(map(len, rankings), default=0)
    return [ranking[rank] for rank in range(longest) for ranking in rankings if rank < len(ranking)]


def messages_of(notes: Iterable[Note]) -> tuple[int, ...]:
    """What the notes rest on, in their order, each message once."""
    return tuple(dict.fromkeys(message_id for note in notes for message_id in note.message_ids))
