"""General knowledge about classes of things and animals: their kind, synonyms, and facts with sources."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_synthesis.group import PersonalConcept
from data_synthesis.wording import contains_phrase, content_of, whole_words

UNKNOWN = "unknown"
TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("class_facts.json").read_text(encoding="utf-8"))
# Words for pets, with their classes
PETS = {
    word: name
    for name, entry in TABLE["classes"].items()
    if entry["kind"] == "pet"
    for word in (name, *(other for other, form in TABLE["synonyms"].items() if form == name))
}


@dataclass(frozen=True, slots=True)
class ClassFact:
    """A question about a concept that is answered by knowledge of its class or breed, with the answer.

    `subject` is the class or the breed, which has to be seen.
    """

    ask: str
    answer: str
    accepted: tuple[str, ...]
    subject: str


def known_class(concept: PersonalConcept) -> str:
    """Returns the name of the concept's class in the table of facts, or UNKNOWN."""
    name = " ".join(whole_words(concept.class_name.replace("_", " ")))
    for form in (name, name.removesuffix("s"), name.split(" ")[-1] if name else ""):
        form = TABLE["synonyms"].get(form, form)
        if form in TABLE["classes"]:
            return str(form)
    return UNKNOWN


def kind_of(concept: PersonalConcept) -> str:
    """Returns pet, worn, keepsake, household, drawing, building, person, or UNKNOWN."""
    entry = TABLE["classes"].get(known_class(concept))
    return str(entry["kind"]) if entry else "pet" if concept.live else UNKNOWN


def is_alive(concept: PersonalConcept) -> bool:
    """Returns whether the class is an animal or a person; False for an unknown class."""
    entry = TABLE["classes"].get(known_class(concept))
    return bool(entry) and entry["kind"] in ("pet", "person")


def class_facts(concept: PersonalConcept) -> list[ClassFact]:
    name = known_class(concept)
    entry: dict[str, Any] = TABLE["classes"].get(name, {"facts": []})
    facts = [(fact["ask"], (fact["answer"], *fact["accepted"]), name) for fact in entry["facts"]]
    words, breeds = TABLE["words"], TABLE["breeds"]
    for language, forms in entry.get("words", {}).items():
        facts.append((words["ask"].replace("{language}", language), tuple(forms), name))
    looks = " ".join(attribute.value for attribute in concept.attributes if "breed" in attribute.key)
    for breed, forms in breeds["countries"].items():
        if contains_phrase(looks, breed):
            facts.append((breeds["ask"], tuple(forms), breed))
    return [ClassFact(ask, forms[0], forms[1:], subject) for ask, forms, subject in facts]


def fact_asked(text: str, concept: PersonalConcept) -> ClassFact | None:
    """Returns the fact about the class or breed of the concept that a question asks for."""
    words = content_of(text.replace(concept.name, "{N}"))
    return next((fact for fact in class_facts(concept) if content_of(fact.ask) == words), None)


def class_words(concept: PersonalConcept) -> set[str]:
    """Returns the single words that name the class, without those that are too common, such as the verb "can"."""
    known = known_class(concept)
    forms = {concept.class_name, known, *(word for word, form in TABLE["synonyms"].items() if form == known)}
    words = {form.lower() for form in forms if form and " " not in form}
    return (words | {f"{word}s" for word in words}) - {"can", "cans", UNKNOWN, f"{UNKNOWN}s", "character", "man"}
