"""How the grammar uses what is known about concepts and photos: settings, seasons, attributes and looks."""

import re
from collections.abc import Iterable, Iterator, Sequence

from data_synthesis.attributes import ATTRIBUTE_QUESTIONS
from data_synthesis.dates import NUMBERS, words_at_odds
from data_synthesis.grammar.words import data
from data_synthesis.group import Attribute, ConceptPhoto, PersonalConcept
from data_synthesis.photo_facts import POSES, distinguishes, short_setting, without_remarks
from data_synthesis.wording import content_of, whole_words

OBJECT_KINDS = ("worn", "keepsake", "household")  # kinds that are spoken of as things, not as somebody
_PLACED = re.compile(
    r"((on|in|by|under|at|among|beside|window sill|forest floor)\b"
    r"|(hanging|held|lying|sitting|standing|walking|worn)( \w+)* (on|in|by|among|at|against|from|under) \w)",
    re.I,
)
_ATTACHED = re.compile(r"(on|in|by|under|at|among|beside|hanging|held|lying|sitting|standing|walking|worn)\b", re.I)
_SEASON = re.compile(r"\b(frozen|ice|snow|blossom\w*|cherry|autumn|yellow leaves|dry leaves|magnolia)\b", re.I)
_LONGEST_LOOK = 8  # words
_FINITE = re.compile(r"\b(?:is|are|has|have|hangs?|shows?|reads?|says?|runs?|covers?|looks?|sits?|stands?|lies)\b")

_SAYS_NOTHING = frozenset(
    "look looks type kind detail details description feature features style visible has is are wears shows".split()
)
_OF_ALL_OF_IT = frozenset("main overall general primary dominant base secondary".split())
_COMMON = frozenset(
    "a an and are as at be behind by for from front has in into is it its left like next of on one or other out over right"
    " small some that the their to two up very view with you top hand head back close full side seen".split()
)


def secret_words(concept: PersonalConcept) -> set[str]:
    """Returns the words of the settings and attributes, which only the photos may tell."""
    texts = [photo.setting for photo in concept.photos]
    texts += [text for attribute in concept.attributes for text in (attribute.value, *attribute.accepted)]
    return {word for text in texts for word in whole_words(text)} - _COMMON - set(whole_words(concept.name))


def is_place(photo: ConceptPhoto) -> bool:
    return bool(_PLACED.match(photo.setting))


def seasonal(photo: ConceptPhoto) -> bool:
    """Returns whether the photo shows a season, which the date of a session may contradict."""
    return bool(_SEASON.search(f"{photo.setting} {photo.description}"))


def short_places(photo: ConceptPhoto) -> tuple[str, ...]:
    """Returns the main part of the setting as a further right answer, if it is shorter than the setting."""
    head = short_setting(photo.setting)
    return (head,) if head != photo.setting and len(whole_words(head)) > 1 else ()


def without_layout(setting: str, concept: PersonalConcept) -> str:
    """Returns a setting without its later clauses that only say how the concept is placed in the picture."""
    says_nothing_new = POSES | content_of(f"{concept.class_name} {concept.name}")
    first, *clauses = re.split(r",\s*", setting)
    return ", ".join([first, *(clause for clause in clauses if content_of(clause) - says_nothing_new)])


def odd_hour(hour: int) -> str:
    """Returns "night" or "early" for an hour that people would mention in a chat, else ""."""
    return "night" if hour < 5 else "early" if hour < 7 else ""


def suits_hour(texts: Iterable[str], hour: int) -> bool:
    """Returns whether lines can be said at this hour, without their optional parts."""
    return words_at_odds(" ".join(text.split(" ~")[0] for text in texts), hour) is None


def has_unique_setting(photo: ConceptPhoto, photos: Sequence[ConceptPhoto]) -> bool:
    """Returns whether the main clause of its setting, without poses, says where it is and fits only this photo of its concept."""
    words = content_of(photo.setting.partition(",")[0]) - POSES
    other_settings = (
        content_of(f"{other.setting} {other.description}") for other in photos if other.path != photo.path
    )
    return bool(_ATTACHED.match(photo.setting)) and distinguishes(words, other_settings)


def pictured(name: str, photo: ConceptPhoto) -> str:
    """Returns a concept in a photo, described by the main clause of the setting: "Rosso on a rock"."""
    return f"{name} {photo.setting.partition(',')[0]}"


def shared_surroundings(first: ConceptPhoto, second: ConceptPhoto) -> str:
    """Returns a phrase for the place that two settings have in common; "" if there is none."""
    for word, phrase in data("text/surroundings.json").items():
        if all(re.search(rf"\b{word}\b", photo.setting, re.I) for photo in (first, second)):
            return str(phrase)
    return ""


def easily_seen(attribute: Attribute) -> bool:
    """Returns whether an attribute is present (not "no collar") and recognisable from any side."""
    is_there = attribute.value.split(" ")[0].lower() not in ("no", "none", "not", "without")
    return is_there and attribute.key not in data("text/hard_to_see.json")


def question_about(template: str, called: str) -> str:
    """Returns the question with the name of a concept filled in; a name of several words is not put into the genitive."""
    if " " in called:
        template = re.sub(r"\{N\}'s (front pocket|\w+)", r"the \1 of {N}", template)
    return template.replace("{N}", called)


def attribute_question(attribute: Attribute) -> str:
    """Returns the question for an attribute, with {N} for the concept. Unknown keys get a wording for singular and plural."""
    known = ATTRIBUTE_QUESTIONS.get(attribute.key)
    words = [word for word in re.split(r"[_\W]+", attribute.key.lower()) if word]
    while len(words) > 1 and words[0] in _SAYS_NOTHING:
        words.pop(0)
    while len(words) > 1 and words[-1] in _SAYS_NOTHING:
        words.pop()
    if words[-1:] and words[-1] in ("colour", "color", "colours", "colors"):
        part = " ".join(words[:-1])
        if part in _OF_ALL_OF_IT:
            return known or f"What is the {part} [colour|color] of {{N}}?"
        return known or f"What is the [colour|color] of {f'the {part} of ' if part else ''}{{N}}?"
    return known or f"How would you describe the {' '.join(words)} of {{N}}?"


def looks_of(concept: PersonalConcept, shown: Sequence[ConceptPhoto]) -> Iterator[str]:
    """Yields descriptions of the concept by its look in these photos, to follow "the", the best first: "red-orange chow chow",
    "one with white paws"."""
    if look := without_remarks(concept.short_description).strip():
        yield look
    for attribute in concept.attributes:
        value = without_remarks(attribute.value).replace("/", " or ")
        short = len(value.split()) <= _LONGEST_LOOK and not set(value) & set(",;:") and not _FINITE.search(value)
        if not short or not easily_seen(attribute) or not any(attribute.visible_on(photo) for photo in shown):
            continue
        plural = content_of(attribute.key.split("_")[-1]) <= content_of(value) and re.fullmatch(
            r"[\w-]+( [\w-]+)? \w+s", value
        )
        if value.split(" ")[0] in ("a", "an", *NUMBERS[:6]) or plural:
            yield f"one with {value}"
