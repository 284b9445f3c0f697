"""The grammar's dialogue beside LoCoMo's own, over two groups for each conversation.

`python -m tests.bench grammar [--seed N] [--locomo PATH] [--concepts PATH]`

- words to a turn and turns to a session, with the tenth, fiftieth and ninetieth of a hundred;
- turns with a question, turns that name the other speaker, and the commonest first words;
- distinct-n: the share of different n-grams. It falls with the size of a text, so LoCoMo is cut to as many, in ten drawn
  samples of whole sessions;
- repeated: sentences that occur in the inserted turns more than once, regardless of length;
- overlap: in how many questions at most half of the content words occur in the turns of the evidence.
"""

import argparse
import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles
from typing import Any

from data_synthesis.grammar import GrammarGenerator
from data_synthesis.group import GeneratedGroup, GroupRequest
from data_synthesis.groups import choose_groups, seed_of
from data_synthesis.placement import place_groups
from data_synthesis.sources import read_concepts
from data_synthesis.voices import first_word, names_in, voices_of
from m2a.benchmarks.locomo import dialogue_of, read_samples, sample_files, session_numbers
from tests.requirements import DREAMBOOTH, SHARED

LOCOMO = SHARED / "locomo"

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+")
_LITTLE = frozenset(
    "a about after all an and any are as at be been before but by can come could did do does first for from get go got had"
    " has have he her his how i in is it its just last like may more most my no not of on one or other our own picture she"
    " shared so some taken that the their them there they this to up was we were what when where which who with you".split()
)


Talk = Sequence[Sequence[tuple[str, str, str]]]
"""Sessions of turns: who speaks, who listens, and the text."""


@dataclass(frozen=True, slots=True)
class Manner:
    """Statistics of how people talk in a set of sessions."""

    words: tuple[float, ...]
    turns: tuple[float, ...]
    questions: float
    naming: float
    first_words: list[tuple[str, float]]
    distinct: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    ours: Manner
    locomo: Manner
    sentences: int
    repeated: list[str]
    little_overlap: float

    def __str__(self) -> str:
        rows = [("", "grammar", "LoCoMo")]
        for name, value in (
            ("words to a turn: mean, 10 %, 50 %, 90 %", lambda style: " ".join(f"{n:.0f}" for n in style.words)),
            ("turns to a session: mean, 10 %, 50 %, 90 %", lambda style: " ".join(f"{n:.0f}" for n in style.turns)),
            ("turns with a question", lambda style: f"{style.questions:.0%}"),
            ("turns that name the other", lambda style: f"{style.naming:.0%}"),
            ("distinct-1, -2, -3", lambda style: " ".join(f"{share:.2f}" for share in style.distinct)),
            ("first words", lambda style: " ".join(f"{word} {share:.0%}" for word, share in style.first_words)),
        ):
            rows.append((name, value(self.ours), value(self.locomo)))
        return "\n".join(f"{name:44}{ours:26}  {host}".rstrip() for name, ours, host in rows) + (
            f"\nsentences {self.sentences}, said more than once {len(self.repeated)}"
            f"\nquestions that share at most half of their content words with their evidence {self.little_overlap:.0%}"
        )


def requests_of(locomo: Path, concepts: Path, *, groups: int = 2, seed: int = 0) -> list[GroupRequest]:
    """Returns requests as the pipeline makes them, `groups` for each conversation."""
    source = read_concepts(concepts)
    requests = []
    for file in sample_files(locomo):
        for sample in read_samples(file):
            dialogue = dialogue_of(sample, file.parent)
            name = dialogue.dialogue_id
            host = [(number, session.started_at) for number, session in enumerate(dialogue.sessions, start=1)]
            chosen = choose_groups(source.concepts, groups, seed=seed, dialogue_id=name)
            placed = place_groups(host, groups, seed=seed, dialogue_id=name)
            speakers = sample["conversation"]["speaker_a"], sample["conversation"]["speaker_b"]
            for group, placement in zip(chosen, placed, strict=True):
                requests.append(
                    GroupRequest(
                        *(name, speakers, group, placement, seed_of(seed, name, group.number)),
                        elsewhere=tuple(
                            concept for other in chosen if other is not group for concept in other.concepts
                        ),
                        voices=voices_of(sample),
                    )
                )
    return requests


def generated(requests: Iterable[GroupRequest]) -> list[GeneratedGroup]:
    generator = GrammarGenerator()  # one for all, as in a run

    async def all_of_them() -> list[GeneratedGroup]:
        return [await generator.generate(request) for request in requests]

    return asyncio.run(all_of_them())


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


def repeated_sentences(groups: Iterable[GeneratedGroup]) -> tuple[int, list[str]]:
    """Returns the number of different sentences in all turns, and the sentences that occur more than once."""
    counts = Counter(
        " ".join(words_of(sentence))
        for group in groups
        for session in group.sessions
        for turn in session
        for sentence in _SENTENCE_END.split(turn.text)
    )
    return len(counts), [sentence for sentence, count in counts.items() if count > 1]


def little_overlap(groups: Iterable[GeneratedGroup]) -> float:
    shares = []
    for group in groups:
        for question in group.questions:
            question_words = set(words_of(question.text)) - _LITTLE
            turns = [group.sessions[place.session - 1][place.turn - 1].text for place in question.evidence]
            evidence_words = {word for text in turns for word in words_of(text)}
            shares.append(len(question_words & evidence_words) / len(question_words) <= 0.5 if question_words else True)
    return mean(shares)


def distinct(texts: Iterable[str], n: int = 3, limit: int | None = None) -> tuple[float, int]:
    """Returns the share of different n-grams among the first `limit`, and their number."""
    grams = [gram for text in texts for gram in _grams(words_of(text), n)][:limit]
    return len(set(grams)) / len(grams), len(grams)


def manner(talk: Talk, distinct_shares: tuple[float, ...]) -> Manner:
    turns = [turn for session in talk for turn in session]
    openings = Counter(first_word(text) for _, _, text in turns)
    return Manner(
        words=_spread([len(text.split()) for _, _, text in turns]),
        turns=_spread([len(session) for session in talk]),
        questions=mean("?" in text for _, _, text in turns),
        naming=mean(names_in(text, listener) for _, listener, text in turns),
        first_words=[(word, count / len(turns)) for word, count in openings.most_common(8)],
        distinct=distinct_shares,
    )


def figures(requests: Sequence[GroupRequest], groups: Sequence[GeneratedGroup], locomo: Path) -> Figures:
    ours = [
        [(turn.speaker, request.speakers[turn.speaker == request.speakers[0]], turn.text) for turn in session]
        for request, group in zip(requests, groups, strict=True)
        for session in group.sessions
    ]
    samples = [sample for file in sample_files(locomo) for sample in read_samples(file)]
    host = [session for sample in samples for session in _sessions_of(sample)]
    texts = [text for session in ours for _, _, text in session]
    shares = [distinct(texts, n) for n in (1, 2, 3)]
    rng, sampled = random.Random(0), list(host)
    host_shares: list[list[float]] = [[], [], []]
    for _ in range(10):
        rng.shuffle(sampled)
        for n, (_, count) in enumerate(shares, start=1):
            texts_elsewhere = (text for session in sampled for _, _, text in session)
            host_shares[n - 1].append(distinct(texts_elsewhere, n, count)[0])
    return Figures(
        manner(ours, tuple(share for share, _ in shares)),
        manner(host, tuple(map(mean, host_shares))),
        *repeated_sentences(groups),
        little_overlap=little_overlap(groups),
    )


def _sessions_of(sample: Mapping[str, Any]) -> Talk:
    """Returns the sessions of a sample that have turns, unchanged."""
    conversation = sample["conversation"]
    names = conversation["speaker_a"], conversation["speaker_b"]
    return [
        [
            (turn["speaker"], names[turn["speaker"] == names[0]], turn["text"])
            for turn in conversation[f"session_{number}"]
        ]
        for number in session_numbers(conversation)
    ]


def _spread(values: Sequence[int]) -> tuple[float, ...]:
    tenths = quantiles(values, n=10)
    return mean(values), tenths[0], tenths[4], tenths[8]


def run(seed: int = 0, locomo: Path = LOCOMO, concepts: Path = DREAMBOOTH) -> Figures:
    """Returns the figures of two groups for each conversation."""
    requests = requests_of(locomo, concepts, seed=seed)
    return figures(requests, generated(requests), locomo)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench grammar")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--locomo", type=Path, default=LOCOMO)
    parser.add_argument("--concepts", type=Path, default=DREAMBOOTH)
    chosen = parser.parse_args(list(options))
    print(run(chosen.seed, chosen.locomo, chosen.concepts))


def _grams(words: list[str], n: int) -> list[tuple[str, ...]]:
    return list(zip(*(words[start:] for start in range(n)), strict=False))
