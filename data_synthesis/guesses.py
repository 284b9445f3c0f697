"""What somebody who has seen no photo guesses first: the look that a name suggests, and the usual look of a part."""

import json
from pathlib import Path

from data_synthesis.dates import NUMBERS
from data_synthesis.group import PersonalConcept
from data_synthesis.photo_facts import Fact, american_words, look_texts
from data_synthesis.wording import content_of, words_of

_TABLE: dict[str, dict[str, str]] = json.loads(Path(__file__).with_name("guesses.json").read_text(encoding="utf-8"))
_SUGGESTED: dict[str, set[str]] = {}
for _look, _names in _TABLE["names"].items():
    for _name in _names.split():
        _SUGGESTED.setdefault(_name, set()).update(content_of(_look))
_USUAL = {part: content_of(looks) for words, looks in _TABLE["usual"].items() for part in content_of(words)}
_SAYS_LITTLE = content_of("light dark deep pale bright") | {*NUMBERS, *map(str, range(10))}


def suggested_by(name: str) -> frozenset[str]:
    """Returns the words for looks and kinds of things that a name suggests: "brown" and "golden" for Toffee."""
    return frozenset().union(*(_SUGGESTED.get(word, ()) for word in words_of(name)))


def guess_of(fact: Fact, name: str, asked: frozenset[str]) -> str | None:
    """Returns the right answer that is guessed from the name of the concept or from the words of the question, or None."""
    guesses = suggested_by(name).union(*(_USUAL.get(word, ()) for word in asked))
    for form in (fact.text, *fact.accepted):
        words = american_words(form) - _SAYS_LITTLE
        if words and words <= guesses | asked and words & guesses:
            return form
    return None


def is_named_for_its_look(concept: PersonalConcept) -> bool:
    """Returns whether its name suggests a part of its look or its kind, or contains a word of it: Toffee for a brown dog."""
    seen = content_of(" ".join((concept.class_name, *look_texts(concept))))
    stems = {word.rstrip("0123456789") for word in words_of(f"{concept.class_name} {concept.short_description}")}
    return bool(seen & suggested_by(concept.name)) or any(
        word.rstrip("0123456789") in stems for word in words_of(concept.name)
    )
