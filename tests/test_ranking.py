"""The ranker's features beside a slow reading of what each of them means."""

import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from m2a.memory.ranking.encoding import InContext, RecordEncoder
from m2a.memory.ranking.features import (
    FEATURES,
    TRAITS,
    EncodedQuestion,
    RankedPassage,
    Words,
    WordStatistics,
    features,
    traits_of,
)
from m2a.memory.ranking.ranker import Ranker, fingerprint
from m2a.memory.ranking.token_head import TokenHead, unit
from m2a.types import DateInterval, EvidenceRange, MemoryEntry, Message
from m2a.types.errors import UserError
from tests.encoders import HashingTokenEncoder

MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
VOCABULARY = ["ball", "kite", "dog", "anna", "ben", "paint", "lake"]


def random_records(random: np.random.Generator, count: int) -> list[RankedPassage]:
    return [
        RankedPassage(
            conversation=f"chat {at // 5}" if at % 9 else "",
            number=at,
            speaker=("Anna", "Ben")[at % 2] if at % 9 else "",
            said_at=MAY + timedelta(days=int(random.integers(60))),
            words=Words.of(random.choice(VOCABULARY, size=int(random.integers(1, 6))).tolist()),
            vector=unit(random.normal(size=16)),
            tokens=np.round(unit(random.normal(size=(int(random.integers(1, 5)), 8))) * 127).astype(np.int8),
            traits=random.integers(0, 2, size=len(TRAITS)).astype(np.float32),
        )
        for at in range(count)
    ]


def alone(records: list[RankedPassage]) -> np.ndarray:
    """Returns the neighbours of records that have none."""
    return np.full((len(records), 4), -1)


def ask(random: np.random.Generator, text: str, words: list[str], people: set[str]) -> EncodedQuestion:
    vectors = unit(random.normal(size=(2, 16)))
    tokens, weights = unit(random.normal(size=(4, 8))), random.uniform(0.1, 2, size=4)
    return EncodedQuestion(
        text, vectors[0], vectors[1], tokens, weights, words, frozenset({"anna", "ben"}), frozenset(people)
    )


def slowly(
    question: EncodedQuestion, records: list[RankedPassage], near: list[list[str]], statistics: WordStatistics
) -> list[dict]:
    """Computes the features one by one, candidate by candidate."""
    words = set(question.words) - question.names
    total = sum(question.token_weights)
    mean_weight = total / len(question.token_weights)

    def bm25(document: list[str], average: float) -> float:
        score = 0.0
        for word in words:
            count = document.count(word)
            score += statistics.idf(word) * count * 2.2 / (count + 1.2 * (0.5 + 0.5 * len(document) / average))
        return score

    def coverage(document: list[str]) -> float:
        whole = sum(statistics.idf(word) for word in words)
        return sum(statistics.idf(word) for word in words if word in document) / max(whole, 1e-9)

    def matches(record: RankedPassage | None) -> list[float]:
        if record is None:
            return [-1.0] * len(question.tokens)
        return [max(float(token @ other) / 127 for other in record.tokens) for token in question.tokens]

    def weighted(values: list[float]) -> float:
        return sum(weight * value for weight, value in zip(question.token_weights, values, strict=True)) / total

    def beside(record: RankedPassage, step: int) -> RankedPassage | None:
        neighbours = [
            r for r in records
            if record.conversation and (r.conversation, r.number) == (record.conversation, record.number + step)
        ]  # fmt: skip
        return neighbours[0] if neighbours else None

    lowest = min(weighted(matches(record)) for record in records)
    own = {id(record): bm25(list(record.words.words), statistics.average_length) for record in records}
    rows = []
    for record, window in zip(records, near, strict=True):
        before, after = beside(record, -1), beside(record, 1)
        of_chat = [other for other in records if other.conversation == record.conversation]
        names_match = (
            record.speaker in question.people
            if record.conversation
            else bool({"anna", "ben"} & set(record.words.words) & set(question.words))
        )
        has_one_person = len(question.people) == 1
        rows.append(
            {
                "dense": float(record.vector @ question.vector),
                "dense_content": float(record.vector @ question.content_vector),
                "bm25_own": own[id(record)],
                "bm25_near": bm25(window, statistics.average_length * 4.75),
                "coverage": coverage(list(record.words.words)),
                "coverage_near": coverage(window),
                "maxsim": weighted(matches(record)),
                "maxsim_near": weighted(np.max([matches(record), matches(before), matches(after)], axis=0).tolist()),
                "maxsim_before": weighted(matches(before)) if before else lowest,
                "maxsim_after": weighted(matches(after)) if after else lowest,
                "maxsim_weakest": min(
                    match
                    for match, weight in zip(matches(record), question.token_weights, strict=True)
                    if weight >= 0.999 * mean_weight
                ),
                "session_maxsim": sum(sorted(weighted(matches(other)) - lowest for other in of_chat)[-3:]),
                "session_bm25": sum(sorted(own[id(other)] - min(own.values()) for other in of_chat)[-3:]),
                "matched": len(words & set(record.words.words)),
                "asked": float(has_one_person and names_match),
                "not_asked": float(has_one_person and not names_match),
                **dict(zip(TRAITS, record.traits.tolist(), strict=True)),
            }
        )  # fmt: skip
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_features_are_what_they_are_called(seed):
    random = np.random.default_rng(seed)
    records = random_records(random, 23)
    beside = random.choice(VOCABULARY, size=(len(records), 4)).tolist()
    near = [[*record.words.words, *more] for record, more in zip(records, beside, strict=True)]
    question = ask(random, "What did Anna paint at the lake?", ["anna", "paint", "lake"], {"Anna"})
    statistics = WordStatistics(500, 4_000, {"paint": 20, "lake": 3})
    places = np.array([[place, -1] for place in range(len(records))])
    table = features(question, records, list(map(Words.of, beside)), places, statistics)
    expected = slowly(question, records, near, statistics)
    assert table.shape == (23, len(FEATURES))
    for column, name in enumerate(FEATURES):
        if name not in expected[0]:
            continue
        expected_column = np.array([row[name] for row in expected])
        if column < FEATURES.index("matched"):
            expected_column = (expected_column - expected_column.mean()) / (expected_column.std() + 1e-6)
        assert np.allclose(table[:, column], expected_column, atol=2e-3), name


def dates(question: str, *moments: datetime) -> list[dict[str, float]]:
    random = np.random.default_rng(0)
    records = random_records(random, len(moments))
    records = [
        RankedPassage(r.conversation, r.number, r.speaker, moment, r.words, r.vector, r.tokens, r.traits)
        for r, moment in zip(records, moments, strict=True)
    ]
    table = features(ask(random, question, [], set()), records, [], alone(records), WordStatistics(1, 1, {}))
    return [dict(zip(FEATURES, row, strict=True)) for row in table]


def test_dates_in_a_question():
    june = datetime(2023, 6, 20, 9, 0, tzinfo=UTC)
    may, other = dates("What happened in May 2023?", MAY, june)
    assert (may["month"], may["date_near"], other["month"]) == (1, 0.5, 0)
    same, later = dates("Who called on 8 May 2023?", MAY, MAY + timedelta(days=8))
    assert same["date_near"] == 1 and 0 < later["date_near"] < 0.5
    assert dates("Where was Anna in 2023?", MAY)[0]["year"] == 1
    assert dates("Where may Anna march?", MAY)[0]["month"] == 0
    assert dates("What was on the 31st of June?", MAY)[0]["date_near"] == 0


def test_traits_of_a_text():
    traits = dict(zip(TRAITS, traits_of("I saw two kites yesterday. Did you?", 3, "Well?"), strict=True))
    assert all(traits[name] for name in ("ends_asking", "has_time", "has_number", "first_person", "after_question"))
    assert traits["length"] == pytest.approx(math.log(8)) and traits["position"] == pytest.approx(math.log(4))


def message(number: int, text: str, speaker: str = "Anna") -> Message:
    return Message(number, "owner", "chat", "user", speaker, text, (), MAY)


@pytest.fixture
def encoder() -> RecordEncoder:
    random = np.random.default_rng(1)
    return RecordEncoder(HashingTokenEncoder(), TokenHead(random.normal(size=(64, 8)), random.normal(size=64)))


def test_a_message_is_read_in_its_context_and_kept_without_it(encoder):
    [[record]] = encoder.messages([InContext(message(7, "A red kite!"), (message(6, "What did Ben fly?", "Ben"),), 1)])
    assert encoder._encoder.texts == ["Ben: What did Ben fly?\nAnna (8 May 2023): A red kite!"]
    assert (record.conversation, record.number, record.speaker) == ("chat", 7, "Anna")
    assert list(record.words.words) == ["anna", "red", "kite"]
    assert record.tokens.shape == (6, 8) and record.tokens.dtype == np.int8  # anna, 8, May, 2023, red, kite
    assert np.linalg.norm(record.vector.astype(np.float32)) == pytest.approx(1, abs=1e-3)
    assert dict(zip(TRAITS, record.traits, strict=True))["after_question"] == 1


def test_an_entry_stands_alone(encoder):
    entry = MemoryEntry(
        3, "owner", 1, "fact", "Anna flew a kite", "", (), (EvidenceRange(1, 1),), (), MAY,
        DateInterval(MAY.date() - timedelta(days=7), MAY.date()),
    )  # fmt: skip
    [[record]] = encoder.entries([entry], ["Anna flew a kite"])
    assert (record.conversation, record.speaker, record.said_at.day) == ("", "", 1)
    assert record.tokens.shape == (3, 8)


@pytest.mark.parametrize("text", ["", "   "])
def test_a_record_without_words_is_like_nothing(encoder, text):
    [[record]] = encoder.messages([InContext(Message(1, "owner", "chat", "user", "", text, (), MAY), (), 0)])
    assert record.tokens.shape[0] >= 1 and np.isfinite(record.vector).all()
    question = encoder.question("?!", encoder.states("?!"), ["Anna"])
    assert np.isfinite(features(question, [record], [], alone([record]), WordStatistics(0, 0, {}))).all()


def test_a_question_knows_its_names_and_its_content(encoder):
    question = encoder.question("What does Anna fly?", encoder.states("What does Anna fly?"), ["Anna", "Ben", "You"])
    assert question.people == {"Anna"} and question.names == {"anna", "ben"}
    assert np.allclose(question.content_vector, unit(encoder._encoder._direction("fli")), atol=1e-5)
    assert len(question.tokens) == len(question.token_weights) == 2 and (question.token_weights > 0).all()
    # A question that is a name keeps it.
    assert np.isfinite(encoder.question("Anna?", encoder.states("Anna?"), ["Anna"]).content_vector).all()


def test_weights_come_from_a_file_that_says_how_it_was_made(tmp_path):
    trained_on = frozenset({fingerprint(["I moved.", "Where to?"]), fingerprint(["Hello."])})
    ranker = Ranker(np.arange(len(FEATURES)) / 7, "m2a tune", trained_on)
    ranker.save(tmp_path / "ranker.json")
    reloaded = Ranker.load(tmp_path / "ranker.json")
    assert reloaded.trained_on == trained_on and fingerprint([" I  moved.", "Where to?\n"]) in trained_on
    assert np.allclose(reloaded.weights, ranker.weights, atol=1e-5) and reloaded.made_by == "m2a tune"
    assert reloaded.scores(np.eye(len(FEATURES))).argmax() == len(FEATURES) - 1
    text = (tmp_path / "ranker.json").read_text().replace('"dense"', '"other"')
    (tmp_path / "ranker.json").write_text(text)
    with pytest.raises(UserError, match="trained on other features"):
        Ranker.load(tmp_path / "ranker.json")


def test_the_head_is_kept_in_few_bytes(tmp_path):
    random = np.random.default_rng(1)
    head = TokenHead(random.normal(size=(16, 4)).astype(np.float32), random.normal(size=16).astype(np.float32))
    head.save(tmp_path / "head.npz")
    reloaded, states = TokenHead.load(tmp_path / "head.npz"), random.normal(size=(5, 16))
    assert np.abs(reloaded.of_record(states).astype(int) - head.of_record(states)).max() <= 1
    assert reloaded.fingerprint == TokenHead.load(tmp_path / "head.npz").fingerprint != head.fingerprint
    assert head.of_record(np.empty((0, 16))).tolist() == [[0, 0, 0, 0]]
