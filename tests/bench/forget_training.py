"""Training data for the decision which memory a request to forget means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from m2a.agents.offline.forget_features import forgotten_features
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.utterances import utterances
from tests.bench.learning import Example

_NEAREST, _ANY = 5, 3  # memories next to the one that is meant: the nearest to the request, and random ones
_OF_ABSENCE = 0.5


@dataclass(frozen=True)
class Request:
    """What is to be forgotten and the texts in memory; `meant` are the positions of the texts that it means."""

    group: str
    target: str
    texts: tuple[str, ...]
    meant: frozenset[int]

    def without_meant(self) -> "Request":
        """The same request if the fact was never told, or is forgotten already."""
        others = tuple(text for place, text in enumerate(self.texts) if place not in self.meant)
        return Request(self.group, self.target, others, frozenset())


def requests(cases: Mapping[str, Sequence[Sequence[str]]], sense: Sense) -> list[Request]:
    """Returns each request with the memory that it means among others, and with the others alone."""
    result = [*_of_statements(cases, sense), *_of_stories(cases.get("stories", ()), sense)]
    return [*result, *(request.without_meant() for request in result if request.meant)]


def forgotten_examples(cases: Sequence[Request], sense: Sense) -> list[Example]:
    """Pairs every request with each of its memories."""
    examples = []
    for case in cases:
        for place, features in enumerate(forgotten_features(case.target, case.texts, sense)):
            meant = place in case.meant
            weight = 1 / len(case.meant) if meant else (1.0 if case.meant else _OF_ABSENCE) / 4
            examples.append(Example(features, meant, case.group, weight=weight))
    return examples


def _of_statements(cases: Mapping[str, Sequence[Sequence[str]]], sense: Sense) -> Iterator[Request]:
    others = [text for case in cases["pairs"] for text in case[:2] if is_english(text)]
    vectors = sense.vectors(others)
    chance = np.random.default_rng(0)
    for number, (statements, request) in enumerate(cases["forgotten"]):
        own = tuple(statements.split(" // "))
        near = np.argsort(vectors @ sense.vector(request))[::-1][:_NEAREST]
        places = [*near.tolist(), *chance.choice(len(others), _ANY, replace=False).tolist()]
        strangers = tuple(others[place] for place in dict.fromkeys(places) if others[place] not in own)
        goal = _target(request, sense)
        yield Request(f"forgotten {number}", goal, (*own, *strangers), frozenset([0]))
        if len(own) > 1:  # few memories, of one person or thing
            yield Request(f"forgotten {number}", goal, own, frozenset([0]))
        yield Request(f"forgotten {number}", goal, own[:1], frozenset([0]))  # the only memory, or a wrong one
        yield Request(f"forgotten {number}", goal, strangers[-1:], frozenset())


def _of_stories(stories: Sequence[Sequence[str]], sense: Sense) -> Iterator[Request]:
    """The requests of the stories with the statements before; those that hold a word that must not come back are meant."""
    for number, lines in enumerate(stories):
        acts = [line.partition(": ") for line in lines]
        statements = [text for act, _, text in acts if act in ("tell", "correct") and is_english(text)]
        expectations = [text.split(" | ")[1] for act, _, text in acts if act == "ask" and " | " in text]
        forbidden = [word.strip() for text in expectations for word in text.removeprefix("must not appear:").split(";")]
        requests = [text for act, _, text in acts if act == "forget"]
        meant = frozenset(
            place
            for place, text in enumerate(statements)
            if any(word and word.casefold() in text.casefold() for word in forbidden)
        )
        if len(requests) == 1 and meant and is_english(requests[0]):
            yield Request(f"stories {number}", _target(requests[0], sense), tuple(statements), meant)


def _target(request: str, sense: Sense) -> str:
    """Returns what the request asks to forget, or the whole request if it is not understood."""
    return next((utterance.text for utterance in utterances(request, sense) if utterance.act == "forget"), request)
