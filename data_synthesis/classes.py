"""What is known of classes of things and animals, whoever has one: their kind, other words for them, and facts with sources."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_synthesis.group import PersonalConcept
from data_synthesis.wording import whole_words

UNKNOWN = "unknown"
TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("class_facts.json").read_text(encoding="utf-8"))
# The class of each word for an animal that people keep.
PETS = {
    word: name
    for name, entry in TABLE["classes"].items()
    if entry["kind"] == "pet"
    for word in (name, *(other for other, form in TABLE["synonyms"].items() if form == name))
}


@dataclass(frozen=True, slots=True)
class ClassFact:
    """A question about a class by way of a concept, with its answer and where that is written."""

    ask: str
    answer: str
    accepted: tuple[str, ...]
    source: str


def known_class(concept: PersonalConcept) -> str:
    """The entry of the class in the table of facts, or UNKNOWN."""
    name = " ".join(whole_words(concept.class_name.replace("_", " ")))
    for form in (name, name.removesuffix("s"), name.split(" ")[-1] if name else ""):
        form = TABLE["synonyms"].get(form, form)
        if form in TABLE["classes"]:
            return str(form)
    return UNKNOWN


def kind_of(concept: PersonalConcept) -> str:
    """pet, worn, keepsake, household, drawing, building, person, or UNKNOWN."""
    entry = TABLE["classes"].get(known_class(concept))
    return str(entry["kind"]) if entry else "pet" if concept.live else UNKNOWN


def class_facts(concept: PersonalConcept) -> list[ClassFact]:
    entry: dict[str, Any] = TABLE["classes"].get(known_class(concept), {"facts": []})
    return [ClassFact(one["ask"], one["answer"], tuple(one["accepted"]), one["source"]) for one in entry["facts"]]


def class_words(concept: PersonalConcept) -> set[str]:
    """Words that name the class. "can" is too common a verb to be one of them."""
    known = known_class(concept)
    forms = {concept.class_name, known, *(word for word, form in TABLE["synonyms"].items() if form == known)}
    words = {form.lower() for form in forms if form and " " not in form}
    return (words | {f"{word}s" for word in words}) - {"can", "cans", UNKNOWN, f"{UNKNOWN}s", "character", "man"}
