"""What is stated of a photo: its setting, the attributes and the look of its concept, and the answers of its own questions."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from data_synthesis.attributes import ATTRIBUTE_QUESTIONS
from data_synthesis.group import ConceptPhoto, PersonalConcept
from data_synthesis.wording import content_of, whole_words

# Words for a pose tell two photos apart only for somebody who sees both of them.
POSES = content_of(
    "facing camera looking left right side front close up view seen standing sitting lying walking head body visible "
    "small large big lower middle near full fully partly half one two upright turned back next other"
)
_VAGUE = content_of("colour color main look looks type kind shape detail visible brand item base picture photo") | POSES
_ASKED_OF_ANY = content_of("what which how is are does do can be has have like look colour color main there")
_PART_ENDS = re.compile(r"[,;()/]|\b(?:with|and|or|in|on|at|by|of|to|from|around|behind|above|below|held|tied)\b")


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement about a photo. Each of the `topics` is a set of words that asks for it; `accepted` are further answers."""

    kind: Literal["setting", "attribute", "look", "answer"]
    text: str
    words: frozenset[str]
    topics: tuple[frozenset[str], ...] = ()
    accepted: tuple[str, ...] = ()

    def asked_by(self, words: frozenset[str]) -> bool:
        return any(topic <= words for topic in self.topics)

    def parts_asked_by(self, words: frozenset[str]) -> list[frozenset[str]]:
        """Returns the specific words of each topic asked about; a set is empty if anything has it, such as a colour."""
        return [topic - _VAGUE - _ASKED_OF_ANY for topic in self.topics if topic <= words]

    @property
    def heads(self) -> frozenset[str]:
        """The last word of each part: "dark" is not an answer where "dark brown" is stated, but "brown" is."""
        parts = (whole_words(part) for part in _PART_ENDS.split(self.text))
        return content_of(" ".join(part[-1] for part in parts if part))


@lru_cache(maxsize=1024)
def facts_of(concept: PersonalConcept, photo: ConceptPhoto) -> tuple[Fact, ...]:
    """Returns everything that is stated of a photo of a concept."""
    facts = [Fact("setting", text, content_of(text)) for text in (photo.setting, photo.description) if text]
    for attribute in concept.attributes:
        if attribute.visible_on(photo):
            key = " ".join(re.split(r"[_\W]+", attribute.key))
            words = content_of(" ".join((attribute.value, *attribute.accepted, key)))
            question = re.sub(r"\{N\}('s)?|[\[\]|]", " ", ATTRIBUTE_QUESTIONS.get(attribute.key, ""))
            topics = tuple(filter(None, (content_of(key) - _VAGUE, content_of(question) - _ASKED_OF_ANY)))
            facts.append(
                Fact("attribute", attribute.value, words, topics or (american_words(key),), attribute.accepted)
            )
    if concept.short_description:
        words = content_of(f"{concept.short_description} {concept.class_name}")
        facts.append(Fact("look", concept.short_description, words))
    facts += [
        Fact("answer", question.answer, content_of(question.answer), (content_of(question.text) - {"sks"},))
        for question in concept.questions
        if question.photo == photo.path
    ]
    return tuple(facts)


def distinguishes(words: frozenset[str], others: Iterable[frozenset[str]]) -> bool:
    """Returns whether each other photo lacks at least half of the words, so that they identify this one."""
    return bool(words) and all(2 * len(words - other) >= len(words) for other in others)


def american_words(text: str) -> frozenset[str]:
    """Returns the content words of a text, with "color" for "colour"."""
    return content_of(text.lower().replace("colour", "color"))


def without_remarks(look: str) -> str:
    """Returns the description of a look without its remarks in brackets."""
    return re.sub(r"\s*\([^()]*\)", "", look)


def look_texts(concept: PersonalConcept, photo: ConceptPhoto | None = None) -> list[str]:
    """Returns the texts that describe the look of a concept, or as much of it as a photo shows."""
    visible = (attribute for attribute in concept.attributes if photo is None or attribute.visible_on(photo))
    texts = [
        concept.short_description,
        *(text for attribute in visible for text in (attribute.value, *attribute.accepted)),
    ]
    return [text for text in texts if text]


def short_setting(setting: str) -> str:
    """Returns the main part of a setting."""
    return re.split(r",| with | in front of | seen | behind\b", setting)[0].strip()


def quoted_setting(words: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto) -> frozenset[str]:
    """Returns those of the words that tell the photo from all others of its concept, by its setting; else none."""
    head = content_of(short_setting(photo.setting)) - POSES
    words &= content_of(photo.setting) - POSES
    other_settings = (
        content_of(f"{other.setting} {other.description}") for other in concept.photos if other is not photo
    )
    enough = len(words) > 1 or 2 * len(words & head) >= len(head)
    return words if enough and distinguishes(words, other_settings) else frozenset()


def quoted_look(
    words: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto, concepts: Iterable[PersonalConcept]
) -> str:
    """Returns the stated look by which the words tell the concept from all others, without its class; else ""."""
    others = [(" ".join(look_texts(other)), other.class_name) for other in concepts if other is not concept]
    for text in map(without_remarks, look_texts(concept, photo)):
        look = content_of(text) - content_of(concept.class_name) - POSES
        fits_others = any(look <= content_of(texts) - content_of(class_name) for texts, class_name in others)
        if look and look <= words and not fits_others:
            return text
    return ""
