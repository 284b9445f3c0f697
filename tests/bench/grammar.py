"""The grammar's words beside LoCoMo's own, over twelve groups. `python -m tests.bench grammar [--seed N]`.

- repeated: sentences that stand in the inserted turns more than once, whatever their length;
- turn length: words to a turn;
- distinct-3: the share of different trigrams. It falls with the size of a text, so LoCoMo is cut to as many trigrams, in
  ten drawn samples of whole sessions;
- overlap: in how many questions at most half of the content words stand in the turns of the evidence.
"""

import argparse
import asyncio
import random
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from data_synthesis.grammar import GrammarGenerator
from data_synthesis.group import GeneratedGroup, GroupRequest
from data_synthesis.groups import choose_groups, seed_of
from data_synthesis.placement import place_groups
from data_synthesis.sources import read_concepts
from m2a.benchmarks.locomo import dialogue_of, read_samples, sample_files

DATA = Path(__file__).parents[3] / "shared" / "data"
LOCOMO = DATA / "locomo"
DREAMBOOTH = DATA / "dreambooth"

_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)]*\s+")
_LITTLE = frozenset(
    "a about after all an and any are as at be been before but by can come could did do does first for from get go got had"
    " has have he her his how i in is it its just last like may more most my no not of on one or other our own picture she"
    " shared so some taken that the their them there they this to up was we were what when where which who with you".split()
)


@dataclass(frozen=True, slots=True)
class Figures:
    sentences: int
    repeated: list[str]
    turn_length: float
    locomo_turn_length: float
    distinct: float
    locomo_distinct: float
    little_overlap: float

    def __str__(self) -> str:
        return (
            f"sentences {self.sentences}, said more than once {len(self.repeated)}\n"
            f"words to a turn {self.turn_length:.1f}; LoCoMo {self.locomo_turn_length:.1f}\n"
            f"distinct-3 {self.distinct:.3f}; LoCoMo, as many trigrams, {self.locomo_distinct:.3f}\n"
            f"questions that share at most half of their content words with their evidence {self.little_overlap:.0%}"
        )


def requests_of(locomo: Path, concepts: Path, *, groups: int = 2, seed: int = 0) -> list[GroupRequest]:
    """Requests as the pipeline makes them, `groups` for each conversation."""
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
                requests.append(GroupRequest(name, speakers, group, placement, seed_of(seed, name, group.number)))
    return requests


def generated(requests: Iterable[GroupRequest]) -> list[GeneratedGroup]:
    generator = GrammarGenerator()  # one for all, as in a run

    async def all_of_them() -> list[GeneratedGroup]:
        return [await generator.generate(request) for request in requests]

    return asyncio.run(all_of_them())


def words_of(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


def repeated_sentences(groups: Iterable[GeneratedGroup]) -> tuple[int, list[str]]:
    """How many different sentences all turns hold, and which stand there more than once."""
    said = Counter(
        " ".join(words_of(sentence))
        for group in groups
        for session in group.sessions
        for turn in session
        for sentence in _SENTENCE_END.split(turn.text)
    )
    return len(said), [sentence for sentence, count in said.items() if count > 1]


def little_overlap(groups: Iterable[GeneratedGroup]) -> float:
    shares = []
    for group in groups:
        for question in group.questions:
            asked = set(words_of(question.text)) - _LITTLE
            turns = [group.sessions[place.session - 1][place.turn - 1].text for place in question.evidence]
            told = {word for text in turns for word in words_of(text)}
            shares.append(len(asked & told) / len(asked) <= 0.5 if asked else True)
    return mean(shares)


def distinct(texts: Iterable[str], limit: int | None = None) -> tuple[float, int]:
    """The share of different trigrams among the first `limit`, and how many there are."""
    trigrams = [one for text in texts for one in _trigrams(words_of(text))][:limit]
    return len(set(trigrams)) / len(trigrams), len(trigrams)


def figures(groups: Sequence[GeneratedGroup], locomo: Path) -> Figures:
    texts = [turn.text for group in groups for session in group.sessions for turn in session]
    dialogues = [dialogue_of(sample, locomo) for file in sample_files(locomo) for sample in read_samples(file)]
    sessions = [[turn.text for turn in session.turns] for dialogue in dialogues for session in dialogue.sessions]
    share, count = distinct(texts)
    drawn, shares = random.Random(0), []
    for _ in range(10):
        drawn.shuffle(sessions)
        shares.append(distinct((text for session in sessions for text in session), count)[0])
    return Figures(
        *repeated_sentences(groups),
        turn_length=mean(len(words_of(text)) for text in texts),
        locomo_turn_length=mean(len(words_of(text)) for session in sessions for text in session),
        distinct=share,
        locomo_distinct=mean(shares),
        little_overlap=little_overlap(groups),
    )


def run(seed: int = 0) -> Figures:
    """The figures of two groups for each of the six conversations, with the concepts of DreamBooth."""
    return figures(generated(requests_of(LOCOMO, DREAMBOOTH, seed=seed)), LOCOMO)


def main(options: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench grammar")
    parser.add_argument("--seed", type=int, default=0)
    print(run(parser.parse_args(list(options)).seed))


def _trigrams(words: list[str]) -> list[tuple[str, ...]]:
    return list(zip(words, words[1:], words[2:], strict=False))
