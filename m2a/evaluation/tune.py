"""`m2a tune`: learns the ranking of `fusion = "best"` from dialogues with questions, and measures it.

Searches are measured through `Retriever.search`, as the app does them. Each figure of the ranking is for a dialogue that neither
its weights nor its choices have seen: the head, the weights, the regularisation and the depth are learned from the other
dialogues only. The exception is the row with the relevance floor, which was chosen once on half of LoCoMo. The ranker gets
scores from the head, so it learns from scores of heads that have not seen the dialogue either.
"""

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
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
from m2a.memory.ranking.features import FEATURES, Record
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
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a dialogue, and the messages that answer it."""

    dialogue: int
    text: str
    category: str
    gold: frozenset[int]
    states: TokenStates

    def recall(self, found: Collection[int]) -> float:
        return len(self.gold.intersection(found)) / len(self.gold)


@dataclass(frozen=True, slots=True)
class Choice:
    """The settings that are chosen within a fold."""

    depth: int
    l2: float


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: what one kind of search found for each question, best first."""

    title: str
    found: Sequence[Sequence[int]]


class _KeepingStates(RecordEncoder):
    """Keeps the token states of what it encodes, which only training needs."""

    def __init__(self, encoder: TokenEncoder) -> None:
        super().__init__(encoder, TokenHead(np.ones((encoder.dimensions, 1)), np.zeros(encoder.dimensions)))
        self.kept: dict[tuple[str, int], np.ndarray] = {}

    def record(
        self,
        conversation: str,
        number: int,
        speaker: str,
        said_at: datetime,
        words: Sequence[str],
        states: np.ndarray,
        traits: np.ndarray,
    ) -> Record:
        self.kept[conversation, number] = unit(states).astype(np.float16)
        return super().record(conversation, number, speaker, said_at, words, states, traits)


class _Projected(RankedRecordStore):
    """Records with the tokens of another head, which are not stored in SQL."""

    def __init__(self, tokens: Mapping[tuple[str, int], np.ndarray]) -> None:
        super().__init__()
        self._tokens = tokens

    def get(self, unit: UnitOfWork, keys: Collection[RecordKey]) -> dict[RecordKey, RankedRecord]:
        return {
            key: RankedRecord(version, replace(record, tokens=self._tokens[record.conversation, record.number]))
            for key, (version, record) in super().get(unit, keys).items()
        }


class _Watcher(LearnedRanking):
    """Records what the paths found, and returns it in the order of message ids."""

    found: tuple[Mapping[RecordKey, int], Sequence[RecordKey]] = ({}, ())

    def ask(self, unit: UnitOfWork, kinds: Collection[RecordKind], texts: Sequence[str]) -> list[RankedQuestion]:
        memory = self.memory(unit, kinds, texts)
        return [_Watched(self, memory, text) for text in texts]


class _Watched(RankedQuestion):
    _by_words: Sequence[RecordKey] = ()

    def read(self, unit: UnitOfWork, found: Collection[RecordKey], by_words: Sequence[RecordKey] = ()) -> None:
        self._by_words = by_words or self._by_words

    def order(self, unit: UnitOfWork, found: Mapping[RecordKey, int]) -> list[RecordKey]:
        assert isinstance(self.ranking, _Watcher)
        self.ranking.found = (found, self._by_words)
        return sorted(found)


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


class Workshop:
    """The dialogues in a temporary memory, one owner each, and what is learned from them."""

    def __init__(self, folder: Path, dialogues: Sequence[Dialogue], encoder: TokenEncoder) -> None:
        self.encoder = encoder
        self.database = Database(f"sqlite:///{folder / 'memory.db'}")
        self.raw = RawMessageStore()
        self._keeping = _KeepingStates(encoder)
        self._written = Retrieval.open(
            MemoryIndex(str(folder / "index.db"), IndexEncoders.of(encoder, NoPhotos())),
            self.database,
            encoder,
            NoPhotos(),
            no_photo,
            ranking=LearnedRanking(RankedRecordStore(), self._keeping, _NO_RANKER),
        )
        self.owners = [owner_named(self.database, dialogue.dialogue_id) for dialogue in dialogues]
        sessions = (session for dialogue in dialogues for session in dialogue.sessions)
        self.trained_on = frozenset(fingerprint(turn.text for turn in session.turns) for session in sessions)
        self.asked: list[Asked] = []
        self._of_dialogue: list[list[tuple[str, int]]] = []
        for number, dialogue in enumerate(dialogues):
            self._observe(number, dialogue)

    def close(self) -> None:
        self._written.close()
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
        self._written.indexer.drain(owner)
        self._of_dialogue.append(list(places.values()))
        questions = [question for question in dialogue.questions if question.answerable and question.evidence]
        for question in questions:
            gold = frozenset(places[reference][1] for reference in question.evidence)
            states = self._keeping.states(question.text)
            self.asked.append(Asked(number, question.text, question.category, gold, states))

    def head(self, unseen: Unseen) -> TokenHead:
        """Returns the head learned from the other dialogues."""
        return fit_head([self._material(n) for n in range(len(self.owners)) if n not in unseen])

    def _material(self, number: int) -> tune_fit.Dialogue:
        places = self._of_dialogue[number]
        position = {message_id: at for at, (_, message_id) in enumerate(places)}
        asked = [one for one in self.asked if one.dialogue == number]
        return tune_fit.Dialogue(
            [self._keeping.kept[place] for place in places],
            [unit(one.states.states) for one in asked],
            [frozenset(position[message_id] for message_id in one.gold) for one in asked],
        )

    def ranking(self, head: TokenHead, ranker: Ranker, dialogues: Iterable[int], depth: int) -> LearnedRanking:
        """Returns the ranking with this head, for questions to these dialogues."""
        places = [place for number in dialogues for place in self._of_dialogue[number]]
        tokens = {place: head.of_record(self._keeping.kept[place].astype(np.float32)) for place in places}
        return LearnedRanking(_Projected(tokens), RecordEncoder(self.encoder, head), ranker, depth=depth)

    def found(self, depth: int) -> list[tuple[Mapping[RecordKey, int], Sequence[RecordKey]]]:
        """Returns what the paths find for each question, at this depth."""
        watcher = _Watcher(RankedRecordStore(), self._keeping, _NO_RANKER, depth=depth)
        found = []
        with self.retriever(watcher) as retriever:
            for one in self.asked:
                retriever.search(self.owners[one.dialogue], Query(one.text), _MESSAGES, 1)
                found.append(watcher.found)
        return found

    @contextmanager
    def retriever(self, ranking: LearnedRanking | None, *, relevance_floor: bool = False) -> Iterator[Retriever]:
        retrieval = Retrieval.open(
            self._written.index,
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

    def search(self, retriever: Retriever, one: Asked) -> list[int]:
        hits = retriever.search(self.owners[one.dialogue], Query(one.text), _MESSAGES, K)
        return [hit.record.message_id for hit in hits if not hasattr(hit.record, "memory_id")]

    def published(self) -> list[Row]:
        """Returns the rows of the dense path, of BM25, and of their published fusion."""
        dense, bm25, fused = list[list[int]](), list[list[int]](), list[list[int]]()
        with self.retriever(None) as retriever:
            for one in self.asked:
                hits = retriever.search(self.owners[one.dialogue], Query(one.text), _MESSAGES, 2 * K)
                by_path = {
                    path: [
                        hit.record.message_id  # type: ignore[union-attr]
                        for hit in sorted((h for h in hits if path in h.ranks), key=lambda h: h.ranks[path])
                    ]
                    for path in ("dense", "bm25")
                }
                dense.append(by_path["dense"])
                bm25.append(by_path["bm25"])
                fused.append([hit.record.message_id for hit in hits[:K]])  # type: ignore[union-attr]
        return [
            Row("dense vectors of dated turns", dense),
            Row("BM25 of turns", bm25),
            Row("their fusion as published (`fusion = paper`)", fused),
        ]


@dataclass
class Tables:
    """The ranker's features of every question, for every head that has not seen its dialogue."""

    workshop: Workshop
    heads: Mapping[Unseen, TokenHead]

    def __post_init__(self) -> None:
        self._tables: dict[tuple[int, Unseen, int], tuple[list[int], np.ndarray]] = {}
        workshop = self.workshop
        for depth in DEPTHS:
            found = workshop.found(depth)
            for unseen, head in self.heads.items():
                ranking = workshop.ranking(head, _NO_RANKER, unseen, depth)
                for at, one in enumerate(workshop.asked):
                    if one.dialogue in unseen:
                        with workshop.database.read(workshop.owners[one.dialogue]) as unit, on_one_thread():
                            [asked] = ranking.ask(unit, _MESSAGES, [one.text])
                            asked.encoded(one.states)
                            asked.read(unit, *found[at])
                            keys, table = asked.table(found[at][0])
                            self._tables[depth, unseen, at] = ([key.record_id for key in keys], table)

    def of(self, depth: int, unseen: Unseen, at: int) -> tuple[list[int], np.ndarray]:
        """Returns the candidates of a question and their features."""
        return self._tables[depth, unseen, at]

    def fit(self, choice: Choice, learned_from: Sequence[int], held_out: Unseen) -> Ranker:
        """Learns weights from these dialogues, each with a head that has seen neither it nor the held-out ones."""
        asked = self.workshop.asked
        some = [
            (one, *self.of(choice.depth, held_out | {one.dialogue}, at))
            for at, one in enumerate(asked)
            if one.dialogue in learned_from
        ]
        some = [(one, keys, table) for one, keys, table in some if keys]
        relevant = [np.array([key in one.gold for key in keys]) for one, keys, _ in some]
        return Ranker(fit_ranker([table for *_, table in some], relevant, choice.l2), "")

    def recall(self, ranker: Ranker, depth: int, unseen: Unseen, dialogue: int) -> list[float]:
        """Returns recall@10 for each of a dialogue's questions."""
        found = []
        for at, one in enumerate(self.workshop.asked):
            if one.dialogue == dialogue:
                keys, table = self.of(depth, unseen, at)
                found.append(one.recall(_best(keys, ranker.scores(table)) if keys else []))
        return found

    def choose(self, dialogues: Sequence[int], held_out: Unseen) -> Choice:
        """Returns the best settings, by leaving out each of these dialogues in turn."""

        def worth(choice: Choice) -> float:
            recalls: list[float] = []
            for left in dialogues:
                others = [number for number in dialogues if number != left]
                ranker = self.fit(choice, others, held_out)
                recalls += self.recall(ranker, choice.depth, held_out | {left}, left)
            return float(np.mean(recalls))

        return max((Choice(depth, l2) for depth in DEPTHS for l2 in L2), key=worth)

    def best_single(self, feature: str, at: int) -> list[int]:
        """Returns the row of ranking by one feature alone, with a head that has not seen the dialogue."""
        keys, table = self.of(DEPTH, frozenset({self.workshop.asked[at].dialogue}), at)
        return _best(keys, table[:, FEATURES.index(feature)]) if keys else []


class Fold(NamedTuple):
    """What was learned and chosen without the dialogue `left`."""

    left: int
    head: TokenHead
    ranker: Ranker
    choice: Choice


def folds(tables: Tables) -> Iterator[Fold]:
    """Returns a fold for each dialogue. The tables need the heads of `unseen_sets` for leaving out."""
    numbers = range(len(tables.workshop.owners))
    for left in numbers:
        others = [number for number in numbers if number != left]
        choice = tables.choose(others, frozenset({left}))
        ranker = tables.fit(choice, others, frozenset({left}))
        yield Fold(left, tables.heads[frozenset({left})], ranker, choice)


def unseen_sets(dialogues: int, *, leave_one_out: bool) -> list[Unseen]:
    """Returns the sets of dialogues for which a head must be learned without them: each one, and for leaving out each pair."""
    numbers = range(dialogues)
    pairs = combinations(numbers, 2) if leave_one_out else ()
    return [*(frozenset({number}) for number in numbers), *(frozenset(pair) for pair in pairs)]


def tune(
    benchmark: Benchmark, encoder: TokenEncoder, *, leave_one_out: bool, out: Path | None, made_by: str, say: Say
) -> None:
    """Prints the table of left-out figures, writes the weights learned from all dialogues, or both."""
    dialogues = benchmark.dialogues
    if len(dialogues) < 3:
        raise BenchmarkError(f"Tuning leaves dialogues out: it needs three or more, and here are {len(dialogues)}.")
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder), dialogues, encoder)
        try:
            _tune(workshop, [d.dialogue_id for d in dialogues], leave_one_out, out, made_by, say)
        finally:
            workshop.close()


def _tune(
    workshop: Workshop, names: Sequence[str], leave_one_out: bool, out: Path | None, made_by: str, say: Say
) -> None:
    numbers = range(len(names))
    say(f"{len(names)} dialogues, {len(workshop.asked)} questions with evidence.")
    unseen = unseen_sets(len(names), leave_one_out=leave_one_out)
    heads = {}
    for done, one in enumerate(unseen, start=1):
        heads[one] = workshop.head(one)
        say(f"Token head {done} of {len(unseen)} is learned.")
    tables = Tables(workshop, heads)
    if leave_one_out:
        _print_ladder(workshop, tables, names, say)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        ranker = tables.fit(Choice(DEPTH, max(L2)), list(numbers), frozenset())
        replace(ranker, made_by=made_by, trained_on=workshop.trained_on).save(out / "ranker.json")
        workshop.head(frozenset()).save(out / "head.npz")
        say(f"The weights of all dialogues are in {out}.")


def _print_ladder(workshop: Workshop, tables: Tables, names: Sequence[str], say: Say) -> None:
    asked = workshop.asked
    rows = workshop.published()
    for feature, title in (
        ("dense", "vectors of turns in context, over the candidates"),
        ("bm25_near", "BM25 of a turn and two to each side, over the candidates"),
        ("maxsim", "late interaction with learned tokens, over the candidates"),
    ):
        rows.append(Row(title, [tables.best_single(feature, at) for at in range(len(asked))]))
    learned, floored = dict[int, list[int]](), dict[int, list[int]]()
    for name, (left, head, ranker, choice) in zip(names, folds(tables), strict=True):
        ranking = workshop.ranking(head, ranker, [left], choice.depth)
        for relevance_floor, found in ((False, learned), (True, floored)):
            with workshop.retriever(ranking, relevance_floor=relevance_floor) as retriever:
                found |= {at: workshop.search(retriever, one) for at, one in enumerate(asked) if one.dialogue == left}
        worth = np.mean([one.recall(learned[at]) for at, one in enumerate(asked) if one.dialogue == left])
        say(f"{name}: depth {choice.depth}, l2 {choice.l2}, recall@{K} {worth:.3f}")
    rows.append(Row("**learned ranking (`fusion = best`), each dialogue left out**", _in_order(learned)))
    rows.append(Row("the same with the relevance floor", _in_order(floored)))
    say("")
    for line in ladder(asked, rows):
        say(line)
    candidates = [tables.of(DEPTH, frozenset({one.dialogue}), at)[0] for at, one in enumerate(asked)]
    reached = np.mean([one.recall(keys) for one, keys in zip(asked, candidates, strict=True)])
    say(
        f"\nThe candidates, {np.mean([len(keys) for keys in candidates]):.0f} a question, hold {reached:.3f} of the evidence."
    )


def _best(keys: Sequence[int], scores: np.ndarray) -> list[int]:
    return [keys[place] for place in np.argsort(-scores, kind="stable")[:K].tolist()]


def _in_order(found: Mapping[int, list[int]]) -> list[list[int]]:
    return [found[at] for at in range(len(found))]


def ladder(asked: Sequence[Asked], rows: Sequence[Row]) -> Iterator[str]:
    """Returns a table in Markdown with recall@10 over all questions and by category."""
    categories = list(dict.fromkeys(one.category for one in asked))
    yield f"| step | R@{K} | " + " | ".join(categories) + " |"
    yield "| --- |" + " --- |" * (len(categories) + 1)
    for row in rows:
        recalls = [one.recall(found) for one, found in zip(asked, row.found, strict=True)]
        means = [np.mean([r for one, r in zip(asked, recalls, strict=True) if one.category == c]) for c in categories]
        yield f"| {row.title} | " + " | ".join(f"{mean:.3f}" for mean in [np.mean(recalls), *means]) + " |"
