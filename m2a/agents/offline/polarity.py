"""Whether a text affirms or denies what a question asks: "I'm not scared of heights" does not say what I am scared of."""

import re
from collections.abc import Sequence

from m2a.agents.offline.change_words import CHANGES, LATELY, TAKES_BACK
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import plain, stem

_DENIED = re.compile(
    r"(?:\b(?:not|never|cannot|without|refuses? to)|n't)(?P<words>(?: (?!but\b|and\b|or\b|because\b)[\w'-]+){1,3})",
    re.IGNORECASE,
)


def contradictions(question: Question, texts: Sequence[str]) -> list[bool]:
    """Returns for each text whether it denies what the question affirms, or the reverse, and another text does not.

    The other must have the same words of the question: what Tom won't eat is not said by what the cat eats. A text that tells
    of a change answers whatever it denies: "I don't drive the Fiat any more".
    """
    if question.kind.name == "yes or no":
        return [False] * len(texts)
    wanted = _polarities(question.text, question.words)
    polarities = [_polarities(text, question.words) for text in texts]
    return [
        not _tells_of_change(text)
        and any(
            word in own
            and own[word] != wanted[word]
            and any(other.get(word) == wanted[word] and own.keys() <= other.keys() for other in polarities)
            for word in wanted
        )
        for text, own in zip(texts, polarities, strict=True)
    ]


def _polarities(text: str, words: Sequence[str]) -> dict[str, bool]:
    """Returns for each word whether the text affirms or denies it, without words that it lacks, or affirms and denies."""
    text = plain(text).lower()
    denied = {stem(word) for match in _DENIED.finditer(text) for word in match["words"].split()}
    affirmed = {stem(word) for word in re.findall(r"[\w'-]+", _DENIED.sub(" ", text))}
    return {word: stem(word) in affirmed for word in words if (stem(word) in affirmed) != (stem(word) in denied)}


def _tells_of_change(text: str) -> bool:
    return bool(LATELY.search(text) or CHANGES.search(text) or TAKES_BACK.search(text))
