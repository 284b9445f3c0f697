"""How a speaker writes: lines are joined to turns with the length, use of names and openings of the host's own turns."""

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

from data_synthesis.grammar.words import data
from data_synthesis.voices import Voice, first_word

_UNUSED_WEIGHT = 0.004  # of an opening that the speaker never used
_ALWAYS = ("hey", "sorry", "sure")
# An extra that introduces a person, or asks a question, is always kept: later lines refer to it.
_INTRODUCTION = "kin1}"
_STRETCH = 2.2  # makes up for the longest turns, for which there is never enough to say
_SHORT = 6  # words: a sentence of this length may end with a name
_SHORT_OF = 4  # words: a turn that is no shorter by more than this is long enough


@dataclass(slots=True)
class Template:
    """A line to be filled: the kind of its opening ("" for none), its core, and optional extras.

    `tail` is the kind of empty sentences that may follow, "" for none. A line that is `led` in by other words is not split.
    """

    opening: str
    core: str
    extras: list[str] = field(default_factory=list)
    tail: str = ""
    led: bool = False

    @classmethod
    def of(cls, text: str, rng: random.Random) -> "Template":
        """Reads a template such as "wow| That's fun! ~I'd love that.", choosing one of each "(alternatives|choices)"."""
        text = _PHRASE.sub(lambda match: rng.choice(_phrases()[match[0]]), text)
        text = re.sub(r"\(([^()|]* )\)", lambda match: rng.choice((match[1], "")), text)
        while match := re.search(r"\(([^()|]*(?:\|[^()|]*)+)\)", text):
            text = text[: match.start()] + rng.choice(match[1].split("|")) + text[match.end() :]
        opening, mark, rest = text.partition("|")
        core, *extras = (rest if mark else text).strip().split(" ~")
        needed = [extra for extra in extras if _INTRODUCTION in extra or extra.endswith("?")]
        optional = [extra for extra in extras if extra not in needed]
        return cls(opening if mark else "", " ".join([core, *needed]), optional)


class Speech:
    """The turns of one speaker in one group."""

    def __init__(self, voice: Voice, other: str, rng: random.Random):
        self.other = other
        self.british = voice.british
        self._voice, self._rng = voice, rng
        self._tails: dict[str, list[str]] = {}
        shares = dict(voice.openings)
        self._openings: dict[str, list[tuple[str, float]]] = {
            kind: [(text, shares.get(first_word(text), 0) + _UNUSED_WEIGHT) for text in texts]
            for kind, texts in data("text/openers.json").items()
        }
        words = {first_word(text) for texts in data("text/openers.json").values() for text in texts}
        self._opened = min(1.5 * sum(shares.get(word, 0) for word in words), 0.95)

    def turn(self, parts: Sequence[Template], may_say: Callable[[str], bool]) -> str:
        """Returns the parts as one text, with as many optional sentences as the length of the turn allows."""
        wanted = _STRETCH * self._rng.choice(self._voice.lengths)
        opening, named = self._opening(parts[0].opening, may_say)
        texts = [[part.core] for part in parts]
        length = sum(len(text.split()) for [text] in texts)
        for part, sentences in zip(parts, texts, strict=True):
            for extra in part.extras:
                if length < wanted - _SHORT_OF and may_say(extra):
                    text = " ".join(sentences)
                    sentences[:] = [text, extra] if part.led else _before_question(text, extra)
                    length += len(extra.split())
        for part, sentences in zip(parts, texts, strict=True):
            if length < wanted - _SHORT_OF and (tail := self._tail(part, may_say)):
                sentences[:] = _before_question(" ".join(sentences), tail)
                length += len(tail.split())
        text = " ".join(" ".join(sentences) for sentences in texts)
        if not named and not opening and self._rng.random() < self._voice.naming * 0.6:
            text = self._with_name(text)
        return self.spelled(f"{opening} {text}".strip())

    def _tail(self, part: Template, may_say: Callable[[str], bool]) -> str:
        """Returns a sentence without new information that goes with lines of this kind; "" if none is left."""
        if part.tail not in self._tails:
            texts = data("text/tails.json").get(part.tail, [])
            self._tails[part.tail] = self._rng.sample(texts, len(texts))
        left = self._tails[part.tail]
        while left:
            tail = Template.of(f"| {left.pop()}", self._rng).core
            if may_say(tail):
                return tail
        return ""

    def _opening(self, kind: str, may_say: Callable[[str], bool]) -> tuple[str, bool]:
        if not kind or (kind not in _ALWAYS and self._rng.random() > self._opened):
            return "", False
        texts, weights = zip(*self._openings[kind], strict=True)
        text: str = self._rng.choices(texts, weights)[0]
        if self._rng.random() > self._voice.naming * 1.5:
            return (text, False) if may_say(text) else ("", False)
        between = " " if text[:-1] in ("Hey", "Hi", "Hello") else ", "
        named = f"{text[:-1]}{between}{self.other}{text[-1]}"
        return (named, True) if may_say(named) else ("", False)

    def _with_name(self, text: str) -> str:
        """Returns the other's name at the end of a closing question, or of a short sentence at the start."""
        if text.endswith("?"):
            return f"{text[:-1]}, {self.other}?"
        first, mark, rest = re.split(r"([.!])", text, maxsplit=1) if re.search(r"[.!]", text) else (text, "", "")
        return f"{first}, {self.other}{mark}{rest}" if 0 < len(first.split()) <= _SHORT else text

    def spelled(self, text: str) -> str:
        """Returns the text in the speaker's spelling; the templates are in American spelling."""
        if self.british:
            for american, british in data("text/spelling.json")["american_to_british"].items():
                text = re.sub(rf"(?<![\w'-]){american}(?!\w)", british, text)
        return text

    def variant(self, text: str) -> str:
        """Returns the text with the speaker's choice of each "[British|American]"."""
        return re.sub(r"\[([^|\[\]]*)\|([^|\[\]]*)\]", lambda match: match[1] if self.british else match[2], text)


def _before_question(text: str, sentence: str) -> list[str]:
    """Returns the text with a sentence at its end, or before the question that it ends with."""
    if match := re.match(r"(.*[.!?]) (?=[^.!?]*\?$)", text):
        return [match[1], sentence, text[match.end() :]]
    return [text, sentence]


@cache
def _phrases() -> dict[str, list[str]]:
    """Returns phrases with the same meaning, by the one that the templates use."""
    return {phrases[0]: phrases for phrases in data("text/phrases.json")}


_PHRASE = re.compile(r"\b(" + "|".join(map(re.escape, sorted(_phrases(), key=len, reverse=True))) + r")\b")


def lowered(text: str, names: Sequence[str]) -> str:
    """Returns the text with a lower-case letter at its start, unless it starts with "I" or a name."""
    first = text.split(" ")[0].strip(",'!?.").removesuffix("'s")
    people = {*data("text/cast.json")["women"], *data("text/cast.json")["men"]}
    if first == "I" or first.startswith(("I'", "<")) or first in people or first in {n.split(" ")[0] for n in names}:
        return text
    return text[:1].lower() + text[1:]
