"""What is known of concepts and photos before anything is written: their class, their settings, their attributes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from data_synthesis.accepted import written_out
from data_synthesis.grammar.words import data
from data_synthesis.group import Attribute, ConceptPhoto, PersonalConcept
from data_synthesis.wording import notes, whole_words, without_notes

UNKNOWN = "unknown"
_PLACED = re.compile(
    r"((on|in|by|under|at|among|beside|window sill|forest floor)\b"
    r"|(hanging|held|lying|sitting|standing|walking|worn)( \w+)* (on|in|by|among|at|against|from|under) \w)",
    re.I,
)
_ATTACHED = re.compile(r"(on|in|by|under|at|among|beside|hanging|held|lying|sitting|standing|walking|worn)\b", re.I)
_NOTE = re.compile(r"\s*\([^()]*\b(?:seen|visible) in [^()]*\)|\s+in every photo\b")
_SEASON = re.compile(r"\b(frozen|ice|snow|blossom\w*|cherry|autumn|yellow leaves|dry leaves|magnolia)\b", re.I)
_SAYS_NOTHING = frozenset("look looks type kind detail details description feature features style visible".split())
_COMMON = frozenset(
    "a an and are as at be behind by for from front has in into is it its left like next of on one or other out over right"
    " small some that the their to two up very view with you top hand head back close full side seen".split()
)


@dataclass(frozen=True, slots=True)
class ClassFact:
    """A question about a class by way of a concept, with its answer and where that is written."""

    ask: str
    answer: str
    accepted: tuple[str, ...]
    source: str


def known_class(concept: PersonalConcept) -> str:
    """The entry of the class in the table of facts, or UNKNOWN."""
    table = data("class_facts.json")
    name = " ".join(whole_words(concept.class_name.replace("_", " ")))
    for form in (name, name.removesuffix("s"), name.split(" ")[-1] if name else ""):
        form = table["synonyms"].get(form, form)
        if form in table["classes"]:
            return str(form)
    return UNKNOWN


def kind_of(concept: PersonalConcept) -> str:
    """pet, worn, keepsake, household, drawing, building, person, or UNKNOWN."""
    entry = data("class_facts.json")["classes"].get(known_class(concept))
    return str(entry["kind"]) if entry else "pet" if concept.live else UNKNOWN


def class_facts(concept: PersonalConcept) -> list[ClassFact]:
    entry: dict[str, Any] = data("class_facts.json")["classes"].get(known_class(concept), {"facts": []})
    return [ClassFact(one["ask"], one["answer"], tuple(one["accepted"]), one["source"]) for one in entry["facts"]]


def class_words(concept: PersonalConcept) -> set[str]:
    """Words that name the class. "can" is too common a verb to be one of them."""
    table = data("class_facts.json")
    known = known_class(concept)
    forms = {concept.class_name, known, *(word for word, form in table["synonyms"].items() if form == known)}
    words = {form.lower() for form in forms if form and " " not in form}
    return (words | {f"{word}s" for word in words}) - {"can", "cans", UNKNOWN, f"{UNKNOWN}s", "character", "man"}


def secret_words(concept: PersonalConcept) -> set[str]:
    """What only the photos may tell: the words of the settings and of the attributes."""
    texts = [photo.setting for photo in concept.photos]
    texts += [text for attribute in concept.attributes for text in (attribute.value, *attribute.accepted)]
    return {word for text in texts for word in whole_words(text)} - _COMMON - set(whole_words(concept.name))


def is_place(photo: ConceptPhoto) -> bool:
    return bool(_PLACED.match(photo.setting))


def seasonal(photo: ConceptPhoto) -> bool:
    """Whether the photo tells a season, which the date of a session might contradict."""
    return bool(_SEASON.search(f"{photo.setting} {photo.description}"))


def short_places(photo: ConceptPhoto) -> tuple[str, ...]:
    """The setting without what follows its main part, as a further right answer."""
    head = re.split(r",| with | in front of | seen | behind\b", photo.setting)[0].strip()
    return (head,) if head != photo.setting and len(whole_words(head)) > 1 else ()


def suits_hour(text: str, hour: int) -> bool:
    words = data("text/fitting.json")
    if re.search(words["evening"], text, re.I) and 5 <= hour < 18:
        return False
    return not re.search(words["daytime"], text, re.I) or 8 <= hour < 21


def tells_apart(photo: ConceptPhoto, photos: Sequence[ConceptPhoto]) -> bool:
    """Whether the words of its setting fit this photo alone among those of its concept."""
    own = set(whole_words(photo.setting)) - _COMMON
    others = (set(whole_words(f"{other.setting} {other.description}")) for other in photos if other.path != photo.path)
    return bool(own) and not any(own <= other for other in others)


def pictured(name: str, photo: ConceptPhoto) -> str:
    """A concept in a photo, named by its setting: "Rosso on a rock"."""
    attached = _ATTACHED.match(photo.setting)
    return f"{name} {photo.setting}" if attached else f"{name} ({photo.setting})"


def shared_surroundings(one: ConceptPhoto, other: ConceptPhoto) -> str:
    """A place that two settings have in common, in words; empty where none is known."""
    for word, phrase in data("text/surroundings.json").items():
        if all(re.search(rf"\b{word}\b", photo.setting, re.I) for photo in (one, other)):
            return str(phrase)
    return ""


def visible_value(attribute: Attribute) -> str:
    """The value without notes about single photos."""
    return _NOTE.sub("", without_notes(attribute.value)).strip()


def accepted_values(attribute: Attribute) -> tuple[str, ...]:
    """Short answers that count as right; a bare number or "no" is given the attribute's name: "two horns", "no collar"."""
    accepted = [answer for answer in attribute.accepted if not notes(answer)]
    return written_out(accepted, attribute.key.split("_")[-1])


def easily_seen(attribute: Attribute) -> bool:
    """Whether it can be asked without knowing from which side a photo was taken."""
    return attribute.key not in data("text/hard_to_see.json")


def visible_in(attribute: Attribute, photo: ConceptPhoto) -> bool:
    """Whether a note of the attribute allows this photo; "seen in 00 and 05" names photos by their file names."""
    if "every photo" in attribute.value:
        return True
    note = re.search(r"\b(?:seen|visible) in ([\w, ]+?)\)", attribute.value)
    in_note = "(" in attribute.value and note is not None and not re.search(r"\(a |\(an ", attribute.value)
    return not in_note or photo.path.stem in (note[1] if note else "")


def asked_of(template: str, called: str) -> str:
    """A question with what a concept is called in it; a name of several words is not put into the genitive."""
    if " " in called:
        template = re.sub(r"\{N\}'s (front pocket|\w+)", r"the \1 of {N}", template)
    return template.replace("{N}", called)


def attribute_question(attribute: Attribute) -> str:
    """A question with {N}; attributes of other sources are asked by their key, in words that fit one and many."""
    known = data("text/attributes.json").get(attribute.key)
    words = [word for word in re.split(r"[_\W]+", attribute.key.lower()) if word]
    while len(words) > 1 and words[-1] in _SAYS_NOTHING:
        words.pop()
    return known or f"How would you describe the {' '.join(words)} of {{N}}?"
