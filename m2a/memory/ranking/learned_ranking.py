"""Ranks the candidates of a question with the learned ranker."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import NamedTuple

import numpy as np
from threadpoolctl import ThreadpoolController

from m2a.memory.question_names import known_names, unknown_names
from m2a.memory.ranking.encoding import RecordEncoder
from m2a.memory.ranking.features import (
    EncodedQuestion,
    RankedPassage,
    Words,
    WordStatistics,
    asks_for_picture,
    features,
)
from m2a.memory.ranking.ranker import Ranker, shipped_ranker
from m2a.memory.ranking.record_store import RankedRecord, RankedRecordStore, Surroundings
from m2a.memory.ranking.token_head import TokenHead
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.words import finished_words
from m2a.types import RecordKey, RecordKind
from m2a.types.errors import UserError
from models.text_encoder import TextEncoder, TokenEncoder, TokenStates

DEPTH = 60  # candidates from each text path
_SEEDS = 30  # messages found by words that bring in their neighbours
_REACH = 2  # neighbours on each side
_NOWHERE = -1_000  # far from every message
# Added to the ranker's score of a record with a photo if the question is about a picture. The dialogues that the weights are
# learned from have no photos, so it was chosen on a visual set (RETRIEVAL.md).
_SHOWS_PICTURE = 2.0
# Added to the score of a record that contains a name of the question. In those dialogues nearly every name is a speaker's.
_NAMED = 1.0


class LearnedRanking:
    """Ranks by late interaction, words in context, people and dates, weighted by a linear ranker.

    Candidates come from the paths. A message that was found by its words brings in its neighbours, because an answer is often
    next to the words that it shares with the question.
    """

    def __init__(self, store: RankedRecordStore, encoder: RecordEncoder, ranker: Ranker, *, depth: int = DEPTH) -> None:
        self.store = store
        self.encoder = encoder
        self.depth = depth
        self.ranker = ranker

    @classmethod
    def load(cls, store: RankedRecordStore, encoder: TextEncoder) -> "LearnedRanking":
        """Loads the weights that ship. Raises `UserError` for an encoder that they were not trained on."""
        if not isinstance(encoder, TokenEncoder) or not encoder.encoder_id.startswith(_TRAINED_ON):
            raise UserError(
                f"fusion 'best' is trained on the tokens of all-MiniLM-L6-v2, not on {encoder.encoder_id!r}; "
                "set fusion = paper."
            )
        return cls.shipped(store, encoder)

    @classmethod
    def shipped(cls, store: RankedRecordStore, encoder: TokenEncoder) -> "LearnedRanking":
        """Loads the weights that ship, without checking the encoder."""
        with as_file(files("m2a.memory.ranking") / "head.npz") as head:
            return cls(store, RecordEncoder(encoder, TokenHead.load(head)), shipped_ranker())

    def ask(self, unit: UnitOfWork, kinds: Collection[RecordKind], texts: Sequence[str]) -> "list[RankedQuestion]":
        """Returns the questions to an owner's records of these kinds, before anything was found."""
        memory = self.memory(unit, kinds, texts)
        return [RankedQuestion(self, memory, text) for text in texts]

    def memory(self, unit: UnitOfWork, kinds: Collection[RecordKind], texts: Sequence[str]) -> "RankedMemory":
        """Returns the memory for these questions."""
        words = {word for text in texts for word in finished_words(text)}
        return RankedMemory(self.store, self.store.speakers(unit), self.store.statistics(unit, kinds, words))


class RankedMemory:
    """The owner's records that were read so far, for questions that run side by side."""

    def __init__(self, store: RankedRecordStore, speakers: Sequence[str], statistics: WordStatistics) -> None:
        self.speakers = speakers
        self.statistics = statistics
        self.records: dict[RecordKey, RankedRecord] = {}
        self._store = store
        self._surroundings: dict[int, Surroundings] = {}
        self._looked_for: set[RecordKey | int] = set()
        self._in_order: _InOrder | None = None

    def read(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> None:
        """Reads the records that are kept."""
        if unread := set(keys) - self._looked_for:
            self._looked_for |= unread
            self.records |= self._store.get(unit, unread)

    def read_surroundings(self, unit: UnitOfWork, message_ids: set[int]) -> None:
        """Reads the conversations and words of the messages that are kept."""
        if missing := message_ids - self._looked_for:
            self._looked_for |= missing
            self._surroundings |= self._store.surroundings(unit, missing)
            self._in_order = None

    def beside(self, number: int) -> list[int]:
        """Returns the message and its neighbours in its conversation, as far as they were read."""
        surroundings = self._surroundings
        if number not in surroundings:
            return []
        conversation = surroundings[number].conversation
        nearby = (number + step for step in _steps(_REACH))
        return [near for near in nearby if near in surroundings and surroundings[near].conversation == conversation]

    def neighbours(self, candidates: Sequence[tuple[RecordKey, RankedPassage]]) -> tuple[list[Words], np.ndarray]:
        """Returns the words of the candidates' neighbours, and which of them are beside each candidate."""
        steps = np.array([step for step in _steps(_REACH) if step])
        positions_beside = np.full((len(candidates), len(steps)), -1)
        if not self._surroundings:
            return [], positions_beside
        if self._in_order is None:
            self._in_order = _InOrder.of(self._surroundings)
        firsts, read, conversations, words = self._in_order
        wanted = np.array(
            [
                firsts[key.record_id] + record.passage
                if key.kind == "message" and key.record_id in firsts
                else _NOWHERE
                for key, record in candidates
            ]
        )
        positions, is_there = _positions_in(read, wanted)
        neighbours, are_there = _positions_in(read, wanted[:, None] + steps)
        are_there &= is_there[:, None] & (conversations[neighbours] == conversations[positions][:, None])
        used, positions_beside[are_there] = np.unique(neighbours[are_there], return_inverse=True)
        return [words[at] for at in used.tolist()], positions_beside


class _InOrder(NamedTuple):
    """The passages of the messages that were read, in order.

    Each has a position, its conversation's code and its words; `firsts` are the positions of the messages' first passages.
    Messages one number apart are one position apart, and so are passages of one message.
    """

    firsts: Mapping[int, int]
    positions: np.ndarray
    conversations: np.ndarray
    words: Sequence[Words]

    @classmethod
    def of(cls, surroundings: Mapping[int, Surroundings]) -> "_InOrder":
        firsts, codes = dict[int, int](), dict[str, int]()
        positions, conversations, words = list[int](), list[int](), list[Words]()
        for number in sorted(surroundings):
            conversation, passages = surroundings[number]
            firsts[number] = first = number + len(words) - len(firsts)
            positions += range(first, first + len(passages))
            conversations += [codes.setdefault(conversation, len(codes))] * len(passages)
            words += passages
        return cls(firsts, np.array(positions), np.array(conversations), words)


class RankedQuestion:
    """The data that the ranker needs for one question. Read it as early as possible: a search waits for its slowest path.

    Before `order`, it must be `encoded`, and the hits of each path must be `read`.
    """

    _encoded_question: EncodedQuestion

    def __init__(self, ranking: LearnedRanking, memory: RankedMemory, text: str) -> None:
        self.ranking = ranking
        self._memory = memory
        self._text = text
        speakers = frozenset(word for speaker in memory.speakers for word in finished_words(speaker))
        self._names = known_names(text, memory.statistics.record_counts, speakers)
        self._names_unknown_subject = bool(unknown_names(text, memory.statistics.record_counts, speakers))
        self._beside_words: set[RecordKey] = set()

    @property
    def names_known_subject(self) -> bool:
        """Whether the question names something that several records mention, and its subject is no stranger.

        A dog Max in the memory says nothing about the dog Max of a John whom no record names.
        """
        return bool(self._names) and not self._names_unknown_subject

    def encoded(self, states: TokenStates) -> None:
        """Stores the question's token states."""
        self._encoded_question = self.ranking.encoder.question(self._text, states, self._memory.speakers)

    def read(self, unit: UnitOfWork, keys: Collection[RecordKey], by_words: Sequence[RecordKey] = ()) -> None:
        """Reads what `order` needs of these records. `by_words` are those that were found by words, best first."""
        messages = [key.record_id for key in keys if key.kind == "message"]
        seeds = [key.record_id for key in by_words if key.kind == "message"][:_SEEDS]
        around = {number + step for step in _steps(_REACH) for number in messages}
        around |= {number + step for step in _steps(2 * _REACH) for number in seeds}
        self._memory.read_surroundings(unit, around)
        beside = {RecordKey("message", there) for number in seeds for there in self._memory.beside(number)}
        self._beside_words |= beside
        self._memory.read(unit, beside.union(keys))

    def order(self, unit: UnitOfWork, versions: Mapping[RecordKey, int]) -> list[RecordKey]:
        """Returns the records that the paths found (given with their versions) and their neighbours, best first."""
        candidates = self._candidates(versions)
        if not candidates:
            return []
        scores = self.ranking.ranker.scores(self._features(candidates)) + self._bonus(unit, candidates)
        in_order = (candidates[at][0] for at in np.argsort(-scores.round(9), kind="stable").tolist())
        return list(dict.fromkeys(in_order))

    def _bonus(self, unit: UnitOfWork, candidates: Sequence[tuple[RecordKey, RankedPassage]]) -> np.ndarray:
        """Returns the addition to each score if the record shows the picture, or names the thing, that is asked about."""
        bonus = np.zeros(len(candidates))
        if asks_for_picture(self._text):
            showing = self.ranking.store.showing(unit, {key for key, _ in candidates})
            bonus += _SHOWS_PICTURE * np.array([key in showing for key, _ in candidates])
        if self._names:
            contains = [record.words.words.__contains__ for _, record in candidates]
            bonus += _NAMED * np.array([any(all(map(holds, name)) for name in self._names) for holds in contains])
        return bonus

    def table(self, versions: Mapping[RecordKey, int]) -> tuple[list[RecordKey], np.ndarray]:
        """Returns the candidates, and the ranker's features of each. `versions` are those of the records that were found.

        A long record has a row for each of its passages, and takes the place of the best one.
        """
        candidates = self._candidates(versions)
        if not candidates:
            return [], np.empty((0, 0))
        return [key for key, _ in candidates], self._features(candidates)

    def _candidates(self, versions: Mapping[RecordKey, int]) -> list[tuple[RecordKey, RankedPassage]]:
        """Returns the passages of all candidates, with the keys of their records."""
        ranked = self._memory.records
        keys = (versions.keys() | self._beside_words) & ranked.keys() if versions else ()
        return [
            (key, passage)
            for key in sorted(keys)
            if key not in versions or ranked[key].version == versions[key]
            for passage in ranked[key].passages
        ]

    def _features(self, candidates: Sequence[tuple[RecordKey, RankedPassage]]) -> np.ndarray:
        beside, neighbours = self._memory.neighbours(candidates)
        records = [record for _, record in candidates]
        return features(self._encoded_question, records, beside, neighbours, self._memory.statistics)


_TRAINED_ON = "all-MiniLM-L6-v2@"

_BLAS = ThreadpoolController()


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Limits BLAS to one thread: for so few rows a second one gains nothing and keeps the core busy that Milvus needs."""
    with _BLAS.limit(limits=1, user_api="blas"):
        yield


def _positions_in(ascending: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the position of each wanted number in the ascending ones, and whether it is there."""
    at = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return at, ascending[at] == wanted


def _steps(reach: int) -> range:
    return range(-reach, reach + 1)
