"""The relevance floors: chosen on one half of the data, reported on the other. `python -m tests.bench floor`.

Words: LoCoMo. Each conversation is a memory, once of its turns (messages) and once of its observations (entries). Its own
questions should find their evidence in it; the questions of the other conversations should find nothing there.

- wrongly lost: how much of recall@10 of the evidence (after fusion, as the product fuses) the floor takes;
- rightly refused: how many questions of others find nothing at all.

A floor is a cosine on the dense path together with a share of the query's words on the BM25 path. Chosen is the one that
refuses most among those that no conversation of the first half pays with more than 1 % of its recall: the worst of three
conversations and half of the 2 % that a default may cost, because it will meet memories that it was not chosen on.
As published it drops each record that is under it; with a learned ranking (`fusion = best`) it drops a question of which every
record is under it. What that takes is measured on the published fusion all the same: it is a share of what was found.

Photos: DreamBooth, subjects halved. A photo should find another photo of its subject, a description its subject's photos;
photos of subjects that the memory does not hold, and descriptions of other classes, should find nothing.
"""

import json
import re
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from uuid import uuid4

import numpy as np
from PIL import Image

from m2a.memory.floor import floor_of
from m2a.memory.fusion import reciprocal_rank_fusion
from m2a.memory.index import MemoryIndex
from m2a.memory.index_rows import IndexHit, TextRow
from m2a.memory.index_schema import IndexEncoders
from m2a.memory.path_search import PATH_DEPTH
from m2a.memory.words import finished_words
from m2a.types import RecordKey, RecordKind
from m2a.wiring import cache_dir
from models.image_encoder import EFFICIENTNET, ImageEncoder
from models.load import load_image_encoder, load_text_encoder
from models.text_encoder import MINILM, TextEncoder

DATA = Path(__file__).parents[3] / "shared" / "data"
FIRST_HALF = ("conv-26", "conv-42", "conv-48")
COSINES = np.round(np.arange(0.2, 0.71, 0.05), 2)
SHARES = np.round(np.arange(0, 0.81, 0.05), 2)
PHOTO_COSINES = np.round(np.arange(0, 0.91, 0.01), 2)
MOST_LOST = 0.01
MOST_LOST_BY_PHOTO = 0.02  # few photos: one is more than 1 %
ADVERSARIAL = 5  # LoCoMo's category of questions without an answer


@dataclass(frozen=True)
class Conversation:
    """Records are (text of the vector, text of the words, turns that they hold); questions (words, turns of the evidence)."""

    name: str
    records: dict[RecordKind, list[tuple[str, str, frozenset[str]]]]
    questions: list[tuple[str, frozenset[str]]]


@dataclass(frozen=True)
class Hits:
    """The first ten hits of both paths for a question; `evidence` is None for a question of another conversation."""

    dense: list[IndexHit]
    bm25: list[IndexHit]
    evidence: frozenset[str] | None

    def top(self, cosine: float, share: float, *, by_question: bool) -> list[int]:
        """Returns the first ten hits over the floor, fused; with `by_question` the floor keeps all hits or none."""
        near = [
            [hit.key.record_id for hit in self.dense if hit.score >= cosine],
            [hit.key.record_id for hit in self.bm25 if hit.matched >= share],
        ]
        if by_question and any(near):
            near = [[hit.key.record_id for hit in self.dense], [hit.key.record_id for hit in self.bm25]]
        return [record_id for record_id, _ in reciprocal_rank_fusion(near)][:10]


def read_locomo() -> list[Conversation]:
    """Reads the conversations; turns carry the captions of their pictures, as a turn with a photo does."""
    conversations = []
    for sample in json.loads((DATA / "locomo" / "locomo_dev6.json").read_text()):
        conversation, turns, observations = sample["conversation"], [], []
        for key, session in conversation.items():
            if not re.fullmatch(r"session_\d+", key):
                continue
            day = conversation[f"{key}_date_time"].split(" on ")[1].replace(",", "")
            for turn in session:
                text = f"{turn['text']} {turn.get('blip_caption', '')}".strip()
                turns.append(
                    (
                        f"{turn['speaker']}: {text} ({day})",
                        f"{turn['speaker']} {text}",
                        frozenset({turn["dia_id"]}),
                    )
                )
        for of_session in sample["observation"].values():
            for text, evidence in (item for items in of_session.values() for item in items):
                observations.append((text, text, _turn_ids(evidence)))
        turn_ids = frozenset().union(*(record[2] for record in turns))
        questions = [
            (question["question"], _turn_ids(question["evidence"]) & turn_ids)
            for question in sample["qa"]
            if question["category"] != ADVERSARIAL
        ]
        conversations.append(
            Conversation(
                sample["sample_id"],
                {"message": turns, "entry": observations},
                [question for question in questions if question[1]],
            )
        )
    return conversations


def _turn_ids(evidence: object) -> frozenset[str]:
    return frozenset(re.findall(r"D\d+:\d+", json.dumps(evidence)))


def ask_everything(
    conversations: Sequence[Conversation], kind: RecordKind, index: MemoryIndex, encoder: TextEncoder
) -> dict[str, tuple[list[Hits], dict[int, frozenset[str]]]]:
    """Returns by conversation the hits of its own questions and of the others in its half, and the turns of each record."""
    vectors = {c.name: encoder.encode([question for question, _ in c.questions]) for c in conversations}
    answers = {}
    for memory in conversations:
        owner = uuid4().hex
        records = memory.records[kind]
        rows = [
            TextRow(RecordKey(kind, number), 1, vector, finished_words(words))
            for number, (vector, (_, words, _)) in enumerate(
                zip(encoder.encode([record[0] for record in records]), records, strict=True)
            )
        ]
        index.put(owner, rows)
        results = [
            Hits(
                index.search_dense(owner, vector[None], [kind], PATH_DEPTH)[0],
                index.search_bm25(owner, [finished_words(question)], [kind], PATH_DEPTH)[0],
                evidence if other is memory else None,
            )
            for other in conversations
            if (other.name in FIRST_HALF) == (memory.name in FIRST_HALF)
            for (question, evidence), vector in zip(other.questions, vectors[other.name], strict=True)
        ]
        answers[memory.name] = (results, {number: record[2] for number, record in enumerate(records)})
    return answers


def recall(
    results: Sequence[Hits], turns: dict[int, frozenset[str]], cosine: float, share: float, *, by_question: bool
) -> float:
    """Returns the mean evidence recall of the conversation's own questions."""
    records = [hits.top(cosine, share, by_question=by_question) for hits in results]
    shares = [
        len(hits.evidence & frozenset().union(*(turns[record] for record in records[i]))) / len(hits.evidence)
        for i, hits in enumerate(results)
        if hits.evidence is not None
    ]
    return float(np.mean(shares))


def refused(results: Sequence[Hits], cosine: float, share: float) -> float:
    return float(np.mean([not hits.top(cosine, share, by_question=False) for hits in results if hits.evidence is None]))


Curve = dict[tuple[float, float], dict[str, tuple[float, float]]]


def measure(answers: dict[str, tuple[list[Hits], dict[int, frozenset[str]]]], *, by_question: bool) -> Curve:
    """Returns by floor and conversation the share of recall lost, and the share of others' questions refused."""
    baseline = {name: recall(*answers[name], -1, 0, by_question=by_question) for name in answers}
    print("  recall@10 without a floor: " + ", ".join(f"{name} {value:.3f}" for name, value in baseline.items()))
    return {
        (float(cosine), float(share)): {
            name: (
                1 - recall(results, turns, cosine, share, by_question=by_question) / baseline[name],
                refused(results, cosine, share),
            )
            for name, (results, turns) in answers.items()
        }
        for cosine, share in product(COSINES, SHARES)
    }


def choose(curve: Curve) -> tuple[float, float]:
    """Chooses the floor on the first half alone."""

    def worst_loss(rates: dict[str, tuple[float, float]]) -> float:
        return max(rates[name][0] for name in FIRST_HALF)

    allowed = {floor: rates for floor, rates in curve.items() if worst_loss(rates) <= MOST_LOST}
    return max(allowed, key=lambda floor: np.mean([allowed[floor][name][1] for name in FIRST_HALF]))


def _halves(rates: dict[str, tuple[float, float]]) -> str:
    parts = []
    for is_first in (True, False):
        values = np.mean([value for name, value in rates.items() if (name in FIRST_HALF) == is_first], axis=0)
        parts.append(f"{values[0]:>8.1%} {values[1]:>8.1%}")
    return "   ".join(parts)


def print_curve(curve: Curve, marks: dict[tuple[float, float], str]) -> None:
    """Prints the best refusal for each budget of loss on the first half, and the marked floors."""
    print(f"  {'cosine':>6} {'share':>6}   {'chosen on: lost, refused':>17}   {'shown on: lost, refused':>17}")

    def first_half(floor: tuple[float, float]) -> np.ndarray:
        return np.mean([curve[floor][name] for name in FIRST_HALF], axis=0)

    best = {
        max((f for f in curve if first_half(f)[0] <= budget), key=lambda f: first_half(f)[1])
        for budget in (0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1)
    }
    for floor in sorted(best | marks.keys(), key=lambda f: first_half(f)[1]):
        print(f"  {floor[0]:>6.2f} {floor[1]:>6.2f}   {_halves(curve[floor])}   {marks.get(floor, '')}")


def floors_of_words(text_encoder: TextEncoder) -> None:
    conversations = read_locomo()
    with tempfile.TemporaryDirectory() as folder:
        index = MemoryIndex(
            f"{folder}/index.db", IndexEncoders(text_encoder.encoder_id, text_encoder.dimensions, "none", 2, None)
        )
        for kind in ("message", "entry"):
            answers = ask_everything(conversations, kind, index, text_encoder)
            for by_question in (False, True):
                unit = "question" if by_question else "record"
                print(f"\nLoCoMo, {kind} floor asked of each {unit}, chosen on {', '.join(FIRST_HALF)}:")
                curve = measure(answers, by_question=by_question)
                marks = {choose(curve): "chosen"}
                floor = floor_of(text_encoder.encoder_id, "", by_question=by_question)
                default = (floor.cosine(kind), floor.words(kind))
                if default in curve:
                    marks[default] = marks.get(default, "") + " shipped"
                print_curve(curve, marks)
        index.close()


def floors_of_photos(text_encoder: TextEncoder, image_encoder: ImageEncoder) -> None:
    subjects = json.loads((DATA / "dreambooth" / "concepts.json").read_text())["subjects"]
    photos, subject_of = [], []
    for number, subject in enumerate(subjects):
        for image in subject["images"]:
            photos.append(Image.open(DATA / "dreambooth" / image["path"]).convert("RGB"))
            subject_of.append(number)
    owner = np.array(subject_of)
    vectors, word_vectors = image_encoder.encode(photos), image_encoder.encode_for_words(photos)
    words = image_encoder.encode_words([f"Where did I put my {s['short_description']}?" for s in subjects])
    classes = [subject["class_name"] for subject in subjects]
    shipped = floor_of(text_encoder.encoder_id, image_encoder.encoder_id)

    def by_photo(held: set[int], half: set[int]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the best cosine of each photo: to its own subject if that is in the memory, otherwise to any photo."""
        inside, strange = np.isin(owner, list(held)), np.isin(owner, list(half - held))
        scores = vectors @ vectors[inside].T
        same = (owner[:, None] == owner[inside][None, :]) & ~np.eye(len(owner), dtype=bool)[:, inside]
        return np.where(same, scores, -1).max(1)[inside], scores[strange].max(1)

    def by_words(held: set[int], half: set[int]) -> tuple[np.ndarray, np.ndarray]:
        inside = np.isin(owner, list(held))
        scores = words @ word_vectors[inside].T
        own = [scores[s][owner[inside] == s].max() for s in held]
        strange = [s for s in half if classes[s] not in {classes[h] for h in held}]
        return np.array(own), scores[strange].max(1)

    print(f"\nDreamBooth, {len(photos)} photos of {len(subjects)} subjects, memories of half of a half:")
    for title, path, default in (
        ("photo to photo", by_photo, shipped.photo_cosine),
        ("words to photo", by_words, shipped.photo_to_words_cosine),
    ):
        print(f"  {title}: {'floor':>5}   {'chosen on: lost, refused':>17}   {'shown on: lost, refused':>17}")
        halves = [_pooled(path, len(subjects), parity) for parity in (0, 1)]
        rows = {float(floor): [_lost_and_refused(*half, floor) for half in halves] for floor in PHOTO_COSINES}
        chosen = max(floor for floor, (first, _) in rows.items() if first[0] <= MOST_LOST_BY_PHOTO)
        for floor, ((lost, away), (lost_there, away_there)) in rows.items():
            if floor in (chosen, default) or round(floor * 100) % 10 == 0:
                mark = ("chosen " if floor == chosen else "") + ("shipped" if floor == default else "")
                print(f"{floor:>23.2f}   {lost:>8.1%} {away:>8.1%}   {lost_there:>8.1%} {away_there:>8.1%}   {mark}")

    unrelated = [question for c in read_locomo() for question, _ in c.questions][::5]
    best = (image_encoder.encode_words(unrelated) @ word_vectors.T).max(1)
    away = ", ".join(f"{floor:.2f} {(best < floor).mean():.0%}" for floor in (0.2, 0.25, 0.3, 0.35, 0.4))
    print(f"  LoCoMo's questions, unrelated to all {len(photos)} photos, find no photo over the floor of {away}")


def _pooled(
    path: Callable[[set[int], set[int]], tuple[np.ndarray, np.ndarray]], subjects: int, parity: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pools twenty random memories, each of half of the subjects of that parity."""
    half = np.arange(parity, subjects, 2)
    draws = [
        path(set(np.random.default_rng(seed).permutation(half)[: len(half) // 2].tolist()), set(half.tolist()))
        for seed in range(20)
    ]
    return np.concatenate([own for own, _ in draws]), np.concatenate([strange for _, strange in draws])


def _lost_and_refused(own: np.ndarray, strange: np.ndarray, floor: float) -> tuple[float, float]:
    return float((own < floor).mean()), float((strange < floor).mean())


def main(arguments: Iterable[str] = ()) -> None:
    del arguments
    text_encoder = load_text_encoder(MINILM, cache_dir())
    floors_of_words(text_encoder)
    floors_of_photos(text_encoder, load_image_encoder(EFFICIENTNET, text_encoder, cache_dir()))


if __name__ == "__main__":
    main()
