"""`m2a tune`: learns the ranking of `fusion = "best"` from dialogues with questions, and measures it.

Searches are measured through `Retriever.search`, as the app runs them. Each figure of the ranking is for a dialogue that neither
its weights nor its settings have seen: the head, the weights, the regularisation and the depth come from the other dialogues
only. The exception is the row with the relevance floor, which was chosen once on half of LoCoMo. The ranker uses scores of the
head, so it learns from scores of heads that have not seen the dialogue either.
"""

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations, islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from m2a.benchmarks.dialogue import Benchmark, BenchmarkError, Dialogue
from m2a.evaluation import tune_fit
from m2a.evaluation.rows import words_of
from m2a.evaluation.tune_fit import fit_head, fit_ranker
from m2a.memory import conversations
from m2a.memory.database import Database
from m2a.memory.index import MemoryIndex
from m2a.memory.index_schema import IndexEncoders
from m2a.memory.owners import owner_named
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.ranking.encoding import RecordEncoder
from m2a.memory.ranking.features import FEATURES, RankedPassage
from m2a.memory.ranking.learned_ranking import DEPTH, LearnedRanking, RankedQuestion, on_one_thread
from m2a.memory.ranking.ranker import Ranker, fingerprint
from m2a.memory.ranking.record_store import RankedRecord, RankedRecordStore
from m2a.memory.ranking.token_head import TokenHead, unit
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.retriever import Retriever
from m2a.memory.stores import Retrieval
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Query, RecordKey, RecordKind
from models.text_encoder import TokenEncoder, TokenStates

if TYPE_CHECKING:
    from PIL.Image import Image

K = 10
DEPTHS = (40, DEPTH)
L2 = (0.003, 0.03)
_MESSAGES: tuple[RecordKind, ...] = ("message",)
_NO_RANKER = Ranker(np.zeros(len(FEATURES)), "")

Unseen = frozenset[int]  # dialogues that a head has not seen
Candidates = tuple[Mapping[RecordKey, int], Sequence[RecordKey]]  # of both paths, and of BM25 alone
Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TuningQuestion:
    """A question of a dialogue, and the messages that answer it."""

    dialogue: int
    text: str
    category: str
    gold: frozenset[int]
    states: TokenStates

    def recall(self, retrieved: Collection[int]) -> float:
        return len(self.gold.intersection(retrieved)) / len(self.gold)


@dataclass(frozen=True, slots=True)
class Choice:
    """The settings that are chosen within a fold."""

    depth: int
    l2: float


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: the messages that one kind of search found for each question, best first."""

    title: str
    rankings: Sequence[Sequence[int]]


class _StateKeepingEncoder(RecordEncoder):
    """Keeps the token states of what it encodes, which only training needs."""

    def __init__(self, encoder: TokenEncoder) -> None:
        super().__init__(encoder, TokenHead(np.ones((encoder.dimensions, 1)), np.zeros(encoder.dimensions)))
        self.kept_states: dict[tuple[str, int, int], np.ndarray] = {}

    def record(
        self,
        conversation: str,
        number: int,
        passage: int,
        speaker: str,
        said_at: datetime,
        words: Sequence[str],
        states: np.ndarray,
        traits: np.ndarray,
    ) -> RankedPassage:
        self.kept_states[conversation, number, passage] = unit(states).astype(np.float16)
        return super().record(conversation, number, passage, speaker, said_at, words, states, traits)


class _Projected(RankedRecordStore):
    """Records with the tokens of another head, which are not stored in SQL."""

    def __init__(self, tokens: Mapping[tuple[str, int, int], np.ndarray]) -> None:
        super().__init__()
        self._tokens = tokens

    def get(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> dict[RecordKey, RankedRecord]:
        return {
            key: RankedRecord.of(ranked.version, [self._projected(passage) for passage in ranked.passages])
            for key, ranked in super().get(unit, keys).items()
        }

    def _projected(self, record: RankedPassage) -> RankedPassage:
        return replace(record, tokens=self._tokens[record.conversation, record.number, record.passage])


class _CandidateRecorder(LearnedRanking):
    """Records the candidates that the paths found, and ranks them by message id."""

    candidates: Candidates = ({}, ())

    def ask(self, unit: UnitOfWork, kinds: Collection[RecordKind], texts: Sequence[str]) -> list[RankedQuestion]:
        memory = self.memory(unit, kinds, texts)
        return [_RecordedQuestion(self, memory, text) for text in texts]


class _RecordedQuestion(RankedQuestion):
    _by_words: Sequence[RecordKey] = ()

    def read(self, unit: UnitOfWork, keys: Collection[RecordKey], by_words: Sequence[RecordKey] = ()) -> None:
        self._by_words = by_words or self._by_words

    def order(self, unit: UnitOfWork, versions: Mapping[RecordKey, int]) -> list[RecordKey]:
        assert isinstance(self.ranking, _CandidateRecorder)
        self.ranking.candidates = (versions, self._by_words)
        return sorted(versions)


class NoPhotos:
    """An image encoder for dialogues without photos."""

    encoder_id = "none"
    dimensions = 1
    word_dimensions: int | None = None

    def encode(self, photos: Sequence[object]) -> np.ndarray:
        return np.empty((0, 1), dtype=np.float32)

    def encode_for_words(self, photos: Sequence[object]) -> np.ndarray:
        return self.encode(photos)

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        return self.encode(texts)


def no_photo(owner: str, photo_id: str) -> "Image":
    raise PhotoNotFoundError(f"There is no photo {photo_id!r}.")


class TuningMemory:
    """The dialogues in a temporary memory, one owner each, with everything that learning from them needs."""

    def __init__(self, folder: Path, dialogues: Sequence[Dialogue], encoder: TokenEncoder) -> None:
        self.encoder = encoder
        self.database = Database(f"sqlite:///{folder / 'memory.db'}")
        self.raw = RawMessageStore()
        self._state_keeper = _StateKeepingEncoder(encoder)
        self._retrieval = Retrieval.open(
            MemoryIndex(str(folder / "index.db"), IndexEncoders.of(encoder, NoPhotos())),
            self.database,
            encoder,
            NoPhotos(),
            no_photo,
            ranking=LearnedRanking(RankedRecordStore(), self._state_keeper, _NO_RANKER),
        )
        self.owners = [owner_named(self.database, dialogue.dialogue_id) for dialogue in dialogues]
        sessions = (session for dialogue in dialogues for session in dialogue.sessions)
        self.trained_on = frozenset(fingerprint(turn.text for turn in session.turns) for session in sessions)
        self.questions: list[TuningQuestion] = []
        self._places: list[list[tuple[str, int]]] = []
        for number, dialogue in enumerate(dialogues):
            self._observe(number, dialogue)

    def close(self) -> None:
        self._retrieval.close()
        self.database.close()

    def _observe(self, number: int, dialogue: Dialogue) -> None:
        owner, places = self.owners[number], dict[str, tuple[str, int]]()
        with self.database.write(owner) as unit:
            for session in dialogue.sessions:
                chat = conversations.start(unit, session.started_at).conversation_id
                for turn in session.turns:
                    message = self.raw.append(
                        unit, chat, role=turn.role, speaker=turn.speaker, text=words_of(turn), said_at=turn.said_at
                    )
                    places[turn.reference] = (chat, message.message_id)
        self._retrieval.indexer.drain(owner)
        self._places.append(list(places.values()))
        questions = [question for question in dialogue.questions if question.answerable and question.evidence]
        for question in questions:
            gold = frozenset(places[reference][1] for reference in question.evidence)
            states = self._state_keeper.states(question.text)
            self.questions.append(TuningQuestion(number, question.text, question.category, gold, states))

    def head(self, unseen: Unseen) -> TokenHead:
        """Returns a token head learned from all dialogues except the unseen ones."""
        return fit_head([self._material(n) for n in range(len(self.owners)) if n not in unseen])

    def _material(self, number: int) -> tune_fit.Dialogue:
        places = self._places[number]
        position = {message_id: position for position, (_, message_id) in enumerate(places)}
        questions = [question for question in self.questions if question.dialogue == number]
        return tune_fit.Dialogue(
            [self._state_keeper.kept_states[*place, 0] for place in places],  # the head learns from beginnings
            [unit(question.states.states) for question in questions],
            [frozenset(position[message_id] for message_id in question.gold) for question in questions],
        )

    def ranking(self, head: TokenHead, ranker: Ranker, dialogues: Iterable[int], depth: int) -> LearnedRanking:
        """Returns the ranking with this head, for questions about these dialogues."""
        places = {place for number in dialogues for place in self._places[number]}
        kept_states = self._state_keeper.kept_states.items()
        tokens = {
            (chat, number, passage): head.of_record(states.astype(np.float32))
            for (chat, number, passage), states in kept_states
            if (chat, number) in places
        }
        return LearnedRanking(_Projected(tokens), RecordEncoder(self.encoder, head), ranker, depth=depth)

    def candidates(self, depth: int) -> list[Candidates]:
        """Returns what the paths find for each question, at this depth."""
        recorder = _CandidateRecorder(RankedRecordStore(), self._state_keeper, _NO_RANKER, depth=depth)
        candidates = []
        with self.retriever(recorder) as retriever:
            for question in self.questions:
                retriever.search(self.owners[question.dialogue], Query(question.text), _MESSAGES, 1)
                candidates.append(recorder.candidates)
        return candidates

    @contextmanager
    def retriever(self, ranking: LearnedRanking | None, *, relevance_floor: bool = False) -> Iterator[Retriever]:
        retrieval = Retrieval.open(
            self._retrieval.index,
            self.database,
            self.encoder,
            NoPhotos(),
            no_photo,
            ranking=ranking,
            relevance_floor=relevance_floor,
        )
        try:
            yield retrieval.retriever
        finally:
            retrieval.retriever.close()

    def search(self, retriever: Retriever, question: TuningQuestion) -> list[int]:
        hits = retriever.search(self.owners[question.dialogue], Query(question.text), _MESSAGES, K)
        return [hit.key.record_id for hit in hits]

    def published_rows(self) -> list[Row]:
        """Returns the rows of the dense path, BM25, and their published fusion."""
        dense, bm25, fused = list[list[int]](), list[list[int]](), list[list[int]]()
        with self.retriever(None) as retriever:
            for question in self.questions:
                hits = retriever.search(self.owners[question.dialogue], Query(question.text), _MESSAGES, 2 * K)
                by_dense = sorted((hit for hit in hits if "dense" in hit.ranks), key=lambda hit: hit.ranks["dense"])
                by_bm25 = sorted((hit for hit in hits if "bm25" in hit.ranks), key=lambda hit: hit.ranks["bm25"])
                for rankings, path_hits in ((dense, by_dense), (bm25, by_bm25), (fused, hits[:K])):
                    rankings.append([hit.key.record_id for hit in path_hits])
        return [
            Row("dense vectors of dated turns", dense),
            Row("BM25 of turns", bm25),
            Row("their fusion as published (`fusion = paper`)", fused),
        ]


@dataclass
class Tables:
    """The ranker's features of every question, for every head that has not seen its dialogue."""

    memory: TuningMemory
    heads: Mapping[Unseen, TokenHead]

    def __post_init__(self) -> None:
        self._tables: dict[tuple[int, Unseen, int], tuple[list[int], np.ndarray]] = {}
        memory = self.memory
        for depth in DEPTHS:
            candidates = memory.candidates(depth)
            for unseen, head in self.heads.items():
                ranking = memory.ranking(head, _NO_RANKER, unseen, depth)
                for number, question in enumerate(memory.questions):
                    if question.dialogue in unseen:
                        with memory.database.read(memory.owners[question.dialogue]) as unit, on_one_thread():
                            [ranked_question] = ranking.ask(unit, _MESSAGES, [question.text])
                            ranked_question.encoded(question.states)
                            ranked_question.read(unit, *candidates[number])
                            keys, table = ranked_question.table(candidates[number][0])
                            self._tables[depth, unseen, number] = ([key.record_id for key in keys], table)

    def features(self, depth: int, unseen: Unseen, number: int) -> tuple[list[int], np.ndarray]:
        """Returns the candidates of a question and their features."""
        return self._tables[depth, unseen, number]

    def fit(self, choice: Choice, learned_from: Sequence[int], held_out: Unseen) -> Ranker:
        """Returns a ranker learned from these dialogues, each with a head that has seen neither it nor the held-out ones."""
        questions = self.memory.questions
        examples = [
            (question, *self.features(choice.depth, held_out | {question.dialogue}, number))
            for number, question in enumerate(questions)
            if question.dialogue in learned_from
        ]
        examples = [(question, keys, table) for question, keys, table in examples if keys]
        relevant = [np.array([key in question.gold for key in keys]) for question, keys, _ in examples]
        return Ranker(fit_ranker([table for *_, table in examples], relevant, choice.l2), "")

    def recall(self, ranker: Ranker, depth: int, unseen: Unseen, dialogue: int) -> list[float]:
        """Returns recall@10 for each of a dialogue's questions."""
        recalls = []
        for number, question in enumerate(self.memory.questions):
            if question.dialogue == dialogue:
                keys, table = self.features(depth, unseen, number)
                recalls.append(question.recall(_best(keys, ranker.scores(table)) if keys else []))
        return recalls

    def choose(self, dialogues: Sequence[int], held_out: Unseen) -> Choice:
        """Returns the settings with the best recall when each of these dialogues is left out in turn."""

        def mean_recall(choice: Choice) -> float:
            recalls: list[float] = []
            for left_out in dialogues:
                others = [number for number in dialogues if number != left_out]
                ranker = self.fit(choice, others, held_out)
                recalls += self.recall(ranker, choice.depth, held_out | {left_out}, left_out)
            return float(np.mean(recalls))

        return max((Choice(depth, l2) for depth in DEPTHS for l2 in L2), key=mean_recall)

    def best_single(self, feature: str, number: int) -> list[int]:
        """Returns the best messages for a question by one feature alone, with a head that has not seen the dialogue."""
        keys, table = self.features(DEPTH, frozenset({self.memory.questions[number].dialogue}), number)
        return _best(keys, table[:, FEATURES.index(feature)]) if keys else []


class Fold(NamedTuple):
    """What was learned and chosen without the dialogue `left_out`."""

    left_out: int
    head: TokenHead
    ranker: Ranker
    choice: Choice


def folds(tables: Tables) -> Iterator[Fold]:
    """Yields a fold for each dialogue. The tables need the heads of `unseen_sets(…, leave_one_out=True)`."""
    numbers = range(len(tables.memory.owners))
    for left_out in numbers:
        others = [number for number in numbers if number != left_out]
        choice = tables.choose(others, frozenset({left_out}))
        ranker = tables.fit(choice, others, frozenset({left_out}))
        yield Fold(left_out, tables.heads[frozenset({left_out})], ranker, choice)


def unseen_sets(dialogues: int, *, leave_one_out: bool) -> list[Unseen]:
    """Returns the sets of dialogues without which a head must be learned: each one and, to leave one out, each pair."""
    numbers = range(dialogues)
    pairs = combinations(numbers, 2) if leave_one_out else ()
    return [*(frozenset({number}) for number in numbers), *(frozenset(pair) for pair in pairs)]


def tune(
    benchmark: Benchmark, encoder: TokenEncoder, *, leave_one_out: bool, out: Path | None, made_by: str, log: Log
) -> None:
    """Logs the table of left-out figures, or writes the weights learned from all dialogues to `out`, or both."""
    dialogues = benchmark.dialogues
    if len(dialogues) < 3:
        raise BenchmarkError(f"Tuning leaves dialogues out: it needs three or more, and here are {len(dialogues)}.")
    with tempfile.TemporaryDirectory() as folder:
        memory = TuningMemory(Path(folder), dialogues, encoder)
        try:
            _tune(memory, [dialogue.dialogue_id for dialogue in dialogues], leave_one_out, out, made_by, log)
        finally:
            memory.close()


def _tune(
    memory: TuningMemory, names: Sequence[str], leave_one_out: bool, out: Path | None, made_by: str, log: Log
) -> None:
    log(f"{len(names)} dialogues, {len(memory.questions)} questions with evidence.")
    unseen = unseen_sets(len(names), leave_one_out=leave_one_out)
    heads = {}
    for count, held_out in enumerate(unseen, start=1):
        heads[held_out] = memory.head(held_out)
        log(f"Token head {count} of {len(unseen)} is learned.")
    tables = Tables(memory, heads)
    if leave_one_out:
        _log_results(memory, tables, names, log)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        ranker = tables.fit(Choice(DEPTH, max(L2)), range(len(names)), frozenset())
        replace(ranker, made_by=made_by, trained_on=memory.trained_on).save(out / "ranker.json")
        memory.head(frozenset()).save(out / "head.npz")
        log(f"The weights of all dialogues are in {out}.")


def _log_results(memory: TuningMemory, tables: Tables, names: Sequence[str], log: Log) -> None:
    questions = memory.questions
    rows = memory.published_rows()
    for feature, title in (
        ("dense", "vectors of turns in context, over the candidates"),
        ("bm25_near", "BM25 of a turn and two to each side, over the candidates"),
        ("maxsim", "late interaction with learned tokens, over the candidates"),
    ):
        rows.append(Row(title, [tables.best_single(feature, number) for number in range(len(questions))]))
    learned, floored = dict[int, list[int]](), dict[int, list[int]]()
    for name, (left_out, head, ranker, choice) in zip(names, folds(tables), strict=True):
        ranking = memory.ranking(head, ranker, [left_out], choice.depth)
        held_out = [(number, question) for number, question in enumerate(questions) if question.dialogue == left_out]
        for relevance_floor, rankings in ((False, learned), (True, floored)):
            with memory.retriever(ranking, relevance_floor=relevance_floor) as retriever:
                rankings |= {number: memory.search(retriever, question) for number, question in held_out}
        mean_recall = np.mean([question.recall(learned[number]) for number, question in held_out])
        log(f"{name}: depth {choice.depth}, l2 {choice.l2}, recall@{K} {mean_recall:.3f}")
    rows.append(Row("**learned ranking (`fusion = best`), each dialogue left out**", _in_order(learned)))
    rows.append(Row("the same with the relevance floor", _in_order(floored)))
    log("")
    for line in results_table(questions, rows):
        log(line)
    candidates = [
        tables.features(DEPTH, frozenset({question.dialogue}), number)[0] for number, question in enumerate(questions)
    ]
    covered = np.mean([question.recall(keys) for question, keys in zip(questions, candidates, strict=True)])
    log(
        f"\nThe candidates, {np.mean([len(keys) for keys in candidates]):.0f} per question, hold {covered:.3f} of the evidence."
    )


def _best(keys: Sequence[int], scores: np.ndarray) -> list[int]:
    in_order = (keys[position] for position in np.argsort(-scores, kind="stable").tolist())
    return list(islice(dict.fromkeys(in_order), K))


def _in_order(rankings: Mapping[int, list[int]]) -> list[list[int]]:
    return [rankings[number] for number in range(len(rankings))]


def results_table(questions: Sequence[TuningQuestion], rows: Sequence[Row]) -> Iterator[str]:
    """Yields the lines of a Markdown table with recall@10 over all questions and by category."""
    categories = list(dict.fromkeys(question.category for question in questions))
    yield f"| step | R@{K} | " + " | ".join(categories) + " |"
    yield "| --- |" + " --- |" * (len(categories) + 1)
    for row in rows:
        recalls = [question.recall(retrieved) for question, retrieved in zip(questions, row.rankings, strict=True)]
        by_category = {category: list[float]() for category in categories}
        for question, recall in zip(questions, recalls, strict=True):
            by_category[question.category].append(recall)
        means = map(np.mean, by_category.values())
        yield f"| {row.title} | " + " | ".join(f"{mean:.3f}" for mean in [np.mean(recalls), *means]) + " |"
