"""Recognition of named things: `python -m tests.bench recognition [--photos N] [--draws N]`.

Over seeded draws of ten of the twenty DreamBooth subjects, one photo of each is named; the other photos of the ten and all of
the other ten, which are strangers, are shown. The rule that ships is measured beside the one before it (centre features, 0.60,
lead 0.06). Then its thresholds are chosen anew on a random half of the subjects and reported on the other half, which shows what
they are worth on subjects that they were not chosen on.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
from PIL import Image

from m2a.memory.recognition import Thresholds, recognise, thresholds_for
from m2a.types import Concept
from m2a.wiring import cache_dir
from models.efficientnet import EfficientNet
from models.likeness_encoder import EfficientNetLikeness
from tests.requirements import DREAMBOOTH

SHOWN_DRAWS = 10  # each in a line of its own
OLD_FLOOR, OLD_MARGIN = 0.60, 0.06

# The answer of a rule for a photo: the names that it gives or asks about, and whether it is sure.
Answer = tuple[tuple[int, ...], bool]
Rule = Callable[[int, dict[int, list[int]]], Answer]


@dataclass(frozen=True, slots=True)
class Photos:
    subject_of: np.ndarray
    names: list[str]
    features: np.ndarray
    likeness: np.ndarray
    encoder_id: str


def read_photos(folder: Path = DREAMBOOTH) -> Photos:
    subjects = json.loads((folder / "concepts.json").read_text())["subjects"]
    network = EfficientNet.load(cache_dir())
    encoder = EfficientNetLikeness(network)
    images = [(n, Image.open(folder / image["path"])) for n, s in enumerate(subjects) for image in s["images"]]
    return Photos(
        np.array([number for number, _ in images]),
        [subject["subject"] for subject in subjects],
        np.array([network.run(image).features for _, image in images]),
        encoder.encode([image for _, image in images]),
        encoder.encoder_id,
    )


def old_rule(photos: Photos) -> Rule:
    """The previous rule: names the nearest thing if it is clearly the nearest; asks about both if two are near."""

    def say(query: int, named: dict[int, list[int]]) -> Answer:
        best = sorted(((max(photos.features[ns] @ photos.features[query]), s) for s, ns in named.items()), reverse=True)
        if best[0][0] < OLD_FLOOR:
            return (), False
        if best[0][0] - best[1][0] < OLD_MARGIN:
            return (best[0][1], best[1][1]), False
        return (best[0][1],), True

    return say


def new_rule(photos: Photos, thresholds: Thresholds) -> Rule:
    vectors = {str(number): vector for number, vector in enumerate(photos.likeness)}

    def say(query: int, named: dict[int, list[int]]) -> Answer:
        concepts = [Concept(s, "", photos.names[s], (), "thing", tuple(map(str, ids))) for s, ids in named.items()]
        match = recognise(str(query), vectors, concepts, thresholds)
        return ((), False) if match is None else ((match.concept.concept_id,), match.certainty == "sure")

    return say


@dataclass(slots=True)
class Tally:
    known: int = 0
    strangers: int = 0
    named: int = 0
    asked_right: int = 0
    named_wrongly: int = 0
    asked_wrongly: int = 0
    strangers_named: int = 0
    strangers_asked: int = 0

    def count(self, subject: int, answer: Answer, *, is_known: bool) -> None:
        names, sure = answer
        if not is_known:
            self.strangers += 1
            self.strangers_named += sure
            self.strangers_asked += bool(names) and not sure
            return
        self.known += 1
        is_right = subject in names
        self.named += sure and is_right
        self.named_wrongly += sure and not is_right
        self.asked_right += is_right and not sure
        self.asked_wrongly += bool(names) and not is_right and not sure

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(*(getattr(self, name) + getattr(other, name) for name in Tally.__slots__))

    @property
    def shares(self) -> tuple[float, ...]:
        """Right in all, named right, asked right, named wrongly, asked of the known; strangers named, asked; asked in all."""
        asked = self.asked_right + self.asked_wrongly
        return (
            (self.named + self.asked_right) / self.known,
            self.named / self.known,
            self.asked_right / self.known,
            self.named_wrongly / self.known,
            asked / self.known,
            self.strangers_named / self.strangers,
            self.strangers_asked / self.strangers,
            (asked + self.strangers_asked) / (self.known + self.strangers),
        )


HEADER = "   right = named + asked   wrong  asked   strangers: named  asked   asked in all"


def line(tally: Tally) -> str:
    right, named, asked_right, wrong, asked, s_named, s_asked, in_all = tally.shares
    return (
        f"  {right:>6.1%} {named:>7.1%} {asked_right:>7.1%} {wrong:>7.2%} {asked:>6.1%} "
        f"{s_named:>17.2%} {s_asked:>6.1%} {in_all:>14.1%}"
    )


def draw(photos: Photos, rule: Rule, seed: int, per_name: int, among: Sequence[int]) -> Tally:
    """Names half of the subjects with `per_name` photos each, and shows all other photos of `among`."""
    rng = np.random.default_rng(seed)
    held = rng.permutation(np.array(among))[: len(among) // 2]
    named = {
        int(s): [int(n) for n in rng.choice(np.flatnonzero(photos.subject_of == s), per_name, replace=False)]
        for s in held
    }
    tally = Tally()
    for query in np.flatnonzero(np.isin(photos.subject_of, among)):
        subject = int(photos.subject_of[query])
        if query not in named.get(subject, ()):
            tally.count(subject, rule(int(query), named), is_known=subject in named)
    return tally


def draws(photos: Photos, rule: Rule, seeds: Sequence[int], per_name: int, among: Sequence[int]) -> Tally:
    return sum((draw(photos, rule, seed, per_name, among) for seed in seeds), Tally())


def standard_errors(photos: Photos, rule: Rule, seeds: Sequence[int], per_name: int) -> np.ndarray:
    """Returns the errors of the shares by a jackknife over the subjects: draws share subjects, so they are not independent."""
    everything = range(len(photos.names))
    without = [draws(photos, rule, seeds, per_name, [s for s in everything if s != left]).shares for left in everything]
    shares = np.array(without)
    return np.asarray(np.sqrt((len(shares) - 1) * ((shares - shares.mean(axis=0)) ** 2).mean(axis=0)))


def choose(photos: Photos, seeds: Sequence[int], among: Sequence[int]) -> Thresholds:
    """The thresholds that name most outright with at most 0.5 % wrong, and then ask most rightly with at most 12 % strangers
    asked: stricter than what is wanted, since the other half will look otherwise."""
    allowed: list[tuple[float, Thresholds]] = []
    for sure, lead in product(np.arange(0.64, 0.80, 0.02), (0.03, 0.05, 0.08)):
        thresholds = Thresholds(float(sure), float(sure), lead)
        _, named, _, wrong, _, s_named, *_ = draws(photos, new_rule(photos, thresholds), seeds, 1, among).shares
        if wrong <= 0.005 and s_named <= 0.005:
            allowed.append((named, thresholds))
    best = max(allowed, key=lambda rated: rated[0])[1]
    candidates: list[tuple[float, Thresholds]] = []
    for likely in np.arange(0.50, best.sure, 0.02):
        thresholds = Thresholds(best.sure, float(likely), best.lead)
        right, *_, s_asked, _ = draws(photos, new_rule(photos, thresholds), seeds, 1, among).shares
        if s_asked <= 0.12:
            candidates.append((right, thresholds))
    return max(candidates, key=lambda rated: rated[0])[1]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench recognition", description=__doc__)
    parser.add_argument("--photos", type=int, default=1, help="named photos of each subject")
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument(
        "--halves", type=int, default=4, help="seeds of halves on which thresholds are chosen anew; 0 for none"
    )
    options = parser.parse_args(arguments)
    photos = read_photos()
    everything, seeds = range(len(photos.names)), range(options.draws)
    shipped = thresholds_for(photos.encoder_id)
    for title, rule in (("before", old_rule(photos)), (f"now, {shipped}", new_rule(photos, shipped))):
        print(f"\n{title}; {options.photos} named photo(s) of each of ten subjects\n{'seed':>6}{HEADER}")
        for seed in range(min(SHOWN_DRAWS, options.draws)):
            print(f"{seed:>6}{line(draw(photos, rule, seed, options.photos, everything))}")
        print(f"{'all':>6}{line(draws(photos, rule, seeds, options.photos, everything))}   ({options.draws} draws)")
    errors = standard_errors(photos, new_rule(photos, shipped), seeds, options.photos)
    print("Standard errors over the subjects (jackknife), of the last line: " + ", ".join(f"{e:.1%}" for e in errors))
    for seed in range(options.halves):
        halves = np.array_split(np.random.default_rng(1000 + seed).permutation(len(photos.names)), 2)
        thresholds = choose(photos, range(20), halves[0].tolist())
        print(f"\nchosen on half {seed}: {thresholds}\n{'':>6}{HEADER}")
        for name, half in zip(("there", "other"), halves, strict=True):
            print(
                f"{name:>6}{line(draws(photos, new_rule(photos, thresholds), range(60), options.photos, half.tolist()))}"
            )


if __name__ == "__main__":
    main()
