"""How the two speakers of a host conversation write, measured on their own turns."""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_TYPICAL = (6, 9, 12, 14, 16, 18, 20, 22, 24, 27, 31, 36, 44)  # words
_MOST_EXAMPLES = 4
_BRITISH = re.compile(r"\b(colour|favourite|neighbour|realis\w+|centre|mum|flavour|grey)\b", re.IGNORECASE)
_AMERICAN = re.compile(r"\b(color|favorite|neighbor|realiz\w+|center|mom|flavor|gray)\b", re.IGNORECASE)
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")


@dataclass(frozen=True, slots=True)
class Voice:
    """How one speaker writes; the defaults are typical values.

    `lengths` are the lengths of their turns in words, `naming` is the share of turns that name the other speaker,
    `openings` are the shares of first words, `mentioned` the names in their turns, and `examples` a few turns.
    """

    lengths: tuple[int, ...] = _TYPICAL
    naming: float = 0.3
    openings: tuple[tuple[str, float], ...] = (("wow", 0.12), ("thanks", 0.1), ("yeah", 0.1), ("hey", 0.07))
    british: bool = False
    mentioned: frozenset[str] = frozenset()
    examples: tuple[str, ...] = ()


def voices_of(sample: Mapping[str, Any]) -> tuple[Voice, Voice]:
    """Returns the voices of speaker_a and speaker_b of a sample in LoCoMo's format."""
    conversation = sample["conversation"]
    turns = [turn for key, session in conversation.items() if re.fullmatch(r"session_\d+", key) for turn in session]
    names = conversation["speaker_a"], conversation["speaker_b"]
    texts = [[str(turn["text"]).strip() for turn in turns if turn["speaker"] == name] for name in names]
    return _voice(texts[0], names[1]), _voice(texts[1], names[0])


def first_word(text: str) -> str:
    """Returns the first word of a text, in lower case and without punctuation; "" for an empty text."""
    match = re.search(r"[\w']+", text.lower().replace("’", "'"))
    return match[0] if match else ""


def _voice(texts: list[str], other: str) -> Voice:
    texts = [text for text in texts if text]
    if not texts:
        return Voice()
    together = " ".join(texts)
    middling = sorted(texts, key=lambda text: len(text.split()))[len(texts) // 2 :]
    return Voice(
        lengths=tuple(sorted(len(text.split()) for text in texts)),
        naming=sum(names_in(text, other) for text in texts) / len(texts),
        openings=tuple((word, count / len(texts)) for word, count in Counter(map(first_word, texts)).most_common()),
        british=len(_BRITISH.findall(together)) > len(_AMERICAN.findall(together)),
        mentioned=frozenset(_NAME.findall(together)),
        examples=tuple(middling[:_MOST_EXAMPLES]),
    )


def names_in(text: str, name: str) -> bool:
    """Returns whether a text contains a name, or a short form of at least three letters ("Mel" for Melanie)."""
    return any(len(word) >= 3 and name.startswith(word) for word in re.findall(r"[A-Z]\w+", text))
