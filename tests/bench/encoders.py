"""Figures of the embedded encoders on the DreamBooth photos: `python -m tests.bench encoders`."""

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from models.conse_encoder import ConseEncoder, convex_combination
from models.efficientnet import EfficientNet, class_names
from models.minilm_encoder import MiniLMEncoder
from tests.requirements import DREAMBOOTH

# Tags that are right for a class; the breed of a dog or a cat is not checked.
RIGHT_TAGS = {
    "backpack": "backpack",
    "stuffed animal": "teddy bear",
    "can": "can",
    "candle": "candle",
    "cat": "tabby cat|tiger cat|Egyptian Mau|Siamese cat|Persian cat",
    "clock": "analog clock|wall clock|digital clock",
    "sneaker": "sneaker",
    "boot": "cowboy boot",
    "glasses": "sunglasses",
    "toy": "toy store",
    "cartoon": "comic book",
}
DOG_NAMES = frozenset(class_names()[151:269])


def balanced_floor(positives: np.ndarray, negatives: np.ndarray) -> tuple[float, float, float, float]:
    """Returns the floor with the best balanced accuracy, that accuracy, and the shares of positives and negatives kept."""
    floors = np.unique(np.concatenate([positives, negatives]))
    shares = np.array([[(positives >= floor).mean(), (negatives >= floor).mean()] for floor in floors])
    best = int(np.argmax(shares[:, 0] - shares[:, 1]))
    return (
        float(floors[best]),
        float((1 + shares[best, 0] - shares[best, 1]) / 2),
        float(shares[best, 0]),
        float(shares[best, 1]),
    )


def report_floors(title: str, positives: np.ndarray, negatives: np.ndarray, floors: Sequence[float]) -> None:
    best, accuracy, right, wrong = balanced_floor(positives, negatives)
    print(f"{title}: best floor {best:.3f}, balanced accuracy {accuracy:.2f} (right {right:.2f}, wrong {wrong:.2f})")
    for floor in floors:
        print(
            f"  floor {floor:.2f}: right kept {(positives >= floor).mean():.2f}, wrong kept {(negatives >= floor).mean():.2f}"
        )


def report_search(title: str, scores: np.ndarray, expected: np.ndarray, candidates: np.ndarray) -> None:
    right = candidates[np.argsort(-scores, axis=1)] == expected[:, None]
    print(f"{title}: first {right[:, 0].mean():.2f}, in five {right[:, :5].any(1).mean():.2f}")


def milliseconds(action: Callable[[], object], times: int = 50) -> str:
    durations = []
    for _ in range(times):
        start = time.perf_counter()
        action()
        durations.append((time.perf_counter() - start) * 1000)
    return f"min {min(durations):.1f} / p50 {np.median(durations):.1f} ms"


def main(_options: Sequence[str] = ()) -> None:
    with tempfile.TemporaryDirectory() as folder:
        _measure(Path(folder))


def _measure(cache_dir: Path) -> None:
    start = time.perf_counter()
    text = MiniLMEncoder.load(cache_dir)
    network = EfficientNet.load(cache_dir)
    encoder = ConseEncoder(network, text, cache_dir)
    print(f"load {time.perf_counter() - start:.2f} s, {encoder.encoder_id}")

    subjects = json.loads((DREAMBOOTH / "concepts.json").read_text())["subjects"]
    photos, owners, descriptions = [], [], []
    for row, subject in enumerate(subjects):
        for image in subject["images"]:
            photos.append(Image.open(DREAMBOOTH / image["path"]).convert("RGB"))
            owners.append(row)
            descriptions.append(image["description"])
    owner = np.array(owners)
    kind = np.array([subjects[row]["class_name"] for row in owners])

    photo_vectors = encoder.encode(photos)
    similar = photo_vectors @ photo_vectors.T
    np.fill_diagonal(similar, -1)
    same = owner[:, None] == owner[None, :]
    nearest = (owner[similar.argmax(1)] == owner).mean()
    print(f"photos {len(photos)}, concepts {len(subjects)}; same concept by nearest photo {nearest:.3f}")
    positives = np.where(same, similar, -1).max(1)
    negatives = np.where(same, -1, similar).max(1)
    report_floors("photo -> photo, nearest, known or not", positives, negatives, (0.5, 0.55, 0.6, 0.65, 0.7, 0.75))

    queries = {
        "subject in words": text.encode([subject["short_description"] for subject in subjects]),
        "question": text.encode([f"Where did I put my {subject['short_description']}?" for subject in subjects]),
    }
    kinds = sorted(set(kind))
    for template in ("{}", "a photo of a {}"):
        names = text.encode([template.format(name) for name in class_names()])
        vectors = np.stack([convex_combination(network.run(photo).probabilities, names) for photo in photos])
        for title, query in queries.items():
            report_search(f"ConSE {template!r}, {title}", query @ vectors.T, np.arange(len(subjects)), owner)
        report_search(f"ConSE {template!r}, class name", text.encode(kinds) @ vectors.T, np.array(kinds), kind)
        report_search(f"ConSE {template!r}, its description", text.encode(descriptions) @ vectors.T, owner, owner)

    scores = queries["subject in words"] @ encoder.encode_for_words(photos).T
    subject_kinds = np.array([subject["class_name"] for subject in subjects])
    right = owner[None, :] == np.arange(len(subjects))[:, None]
    other = kind[None, :] != subject_kinds[:, None]
    floors = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
    best_right, best_other = np.where(right, scores, -1).max(1), np.where(other, scores, -1).max(1)
    report_floors("words -> photo, best of subject / best of other classes", best_right, best_other, floors)
    report_floors("words -> photo, every pair", scores[right], scores[other], floors)

    covered = correct = 0
    top = 0
    for photo, name in zip(photos, kind, strict=True):
        tags = network.tags(photo, 0.0)
        allowed = DOG_NAMES if name == "dog" else set(RIGHT_TAGS[name].split("|"))
        top += tags[0].name in allowed
        if tags[0].probability >= 0.2:
            covered += 1
            correct += tags[0].name in allowed
    share, right_share = covered / len(photos), correct / covered
    print(f"tags: first right {top / len(photos):.2f}; p >= 0.2 covers {share:.2f}, right {right_share:.2f}")

    photo = photos[0]
    print("query", milliseconds(lambda: text.encode(["Where did I leave my red backpack last week?"])))
    print("photo", milliseconds(lambda: EfficientNet(network._session, "uncached").run(photo)))
    start = time.perf_counter()
    text.encode(descriptions)
    print(f"batch {len(descriptions) / (time.perf_counter() - start):.0f} descriptions per s")


if __name__ == "__main__":
    main()
