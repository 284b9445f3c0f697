"""A question of a group as its checks see it: its evidence, the facts that answer it, and what must be seen in photos.

The need for photos is derived only here, for every generator and again for each folder that is read.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from data_synthesis.classes import fact_asked
from data_synthesis.group import (
    OPEN_DOMAIN,
    VISUAL_RETRIEVAL,
    ConceptPhoto,
    GeneratedQuestion,
    PersonalConcept,
    SeenDetail,
)
from data_synthesis.group_view import GroupView, TurnView
from data_synthesis.photo_facts import Fact, american_words, facts_of, quoted_look, quoted_setting
from data_synthesis.wording import content_of, names_of, whole_words

AnsweringFact = tuple[PersonalConcept, ConceptPhoto, Fact]


@dataclass(frozen=True, slots=True)
class Need:
    """A detail, in `words`, that must be seen in a photo. `said_at` is a turn that says it, if any does.

    `role` is what the detail reveals: the answer, which photo of a concept is meant, or which concept.
    """

    role: Literal["answer", "photo", "concept"]
    concept: PersonalConcept
    photo: ConceptPhoto
    shown_at: TurnView
    words: str
    said_at: TurnView | None


class QuestionView:
    """A question with its group. `evidence` are the turns of its evidence that exist, `date_turns` the turns that its dates
    are computed from, and `named` the concepts that it names."""

    def __init__(self, question: GeneratedQuestion, group: GroupView) -> None:
        self.group, self.category, self.text, self.photos = group, question.category, question.text, question.photos
        self.answer, self.accepted, self.evidence_places = question.answer, question.accepted, question.evidence
        self.answers = (question.answer, *question.accepted)
        self.words, self.answer_words = content_of(question.text), content_of(question.answer)
        self.named = group.concepts_in(question.text)
        self.evidence = [group.turns[place] for place in question.evidence if place in group.turns]
        self.events = question.derivation.events if question.derivation else ()
        self.date_turns = [group.turns[event.place] for event in self.events if event.place in group.turns]

    @property
    def answer_is_name(self) -> bool:
        return bool(names_of(f"It was {self.answer}."))

    @cached_property
    def evidence_photos(self) -> list[tuple[PersonalConcept, ConceptPhoto, TurnView]]:
        """The photos that its evidence shows."""
        owners = self.group.owners
        return [(*owners[path], turn) for turn in self.evidence for path in turn.photos if path in owners]

    @cached_property
    def is_told(self) -> bool:
        """Whether the texts of its evidence contain the words of the answer."""
        return self.answer_words <= frozenset().union(*(turn.words for turn in self.evidence))

    @cached_property
    def facts(self) -> list[AnsweringFact]:
        """For each photo of a concept that the question may be about, the first fact that contains the answer.

        Empty where a date is asked for.
        """
        return [
            (concept, photo, fact)
            for concept, photo, _ in (() if self.events else self.evidence_photos)
            if not self.named or concept in self.named
            for fact in [
                candidate for candidate in self._facts_asked_for(concept, photo) if self.answer_words <= candidate.words
            ][:1]
        ]

    def _facts_asked_for(self, concept: PersonalConcept, photo: ConceptPhoto) -> Sequence[Fact]:
        """Returns the facts that the question may be about: the settings if it asks where, the attributes it names, or all."""
        facts, words = facts_of(concept, photo), self.words
        if self.category == VISUAL_RETRIEVAL:
            return [fact for fact in facts if fact.kind == "answer" and fact.asked_by(words)] or facts
        if whole_words(self.text)[:1] == ("where",):
            return [fact for fact in facts if fact.kind == "setting"]
        words = (words | american_words(self.text)) - content_of(concept.name)
        return [fact for fact in facts if fact.asked_by(words)] or facts

    @cached_property
    def needs(self) -> list[Need]:
        """What must be seen in the photos of its evidence, photo by photo."""
        return [
            Need(role, concept, photo, turn, words, next(filter(None, saying), None))
            for concept, photo, turn in self.evidence_photos
            for role, words, forms in self._needed(concept, photo)
            for saying in [(self.group.turn_saying(form, concept) for form in forms)]
        ]

    def _needed(
        self, concept: PersonalConcept, photo: ConceptPhoto
    ) -> Iterator[tuple[Literal["answer", "photo", "concept"], str, list[frozenset[str]]]]:
        """Yields each detail that must be seen: its role, its words, and the sets of words by which a turn could say it."""
        for owner, own, fact in self.facts:
            if owner is concept and own is photo:
                yield "answer", fact.text, [self.answer_words, content_of(fact.text)]
        class_words = content_of(concept.class_name)
        if concept in self.named:
            if quoted := quoted_setting(self.words, concept, photo):
                yield "photo", photo.setting, [quoted]
            known = fact_asked(self.text, concept) if self.category == OPEN_DOMAIN else None
            subject = known.subject if known else concept.class_name
            class_said = class_words & content_of(concept.name) or self.group.turn_with_any(class_words)
            if self.category == OPEN_DOMAIN and concept.class_name and not class_said:
                yield "answer", subject, [class_words, content_of(subject)]
        elif (look := self.quoted_look(concept, photo)) and not (
            self.words & class_words and self.group.turn_saying(class_words, concept)
        ):
            yield "concept", look, [content_of(look) & self.words - class_words]
        if not facts_of(concept, photo) and not self.events and not self.is_told:
            yield "answer", self.answer, [self.answer_words]

    @cached_property
    def details(self) -> tuple[SeenDetail, ...]:
        """The details that must be seen in the photos of its evidence, or in its own photo, to answer the question."""
        concepts = self.group.concepts
        naming = {concept: tuple(turn.place for turn in self.evidence if concept in turn.named) for concept in concepts}
        details: dict[object, SeenDetail] = {}
        for photo in self.photos:
            for concept in (concept for concept in concepts if photo in [unseen.path for unseen in concept.unseen]):
                details[photo, concept] = SeenDetail(photo, f"that it is {concept.name}", None, naming[concept])
        for need in () if self.photos else self.needs:
            path, place = need.photo.path, need.shown_at.place
            if need.said_at is None:
                detail = SeenDetail(path, need.words, place, naming[need.concept] or (place,))
                details.setdefault((path, need.words), detail)
        return tuple(details.values())

    def quoted_photos(self) -> set[Path]:
        """Returns the photos that the question tells from the others of their concepts by their settings."""
        owners = self.group.owners.values()
        return {photo.path for concept, photo in owners if quoted_setting(self.words, concept, photo)}

    def quoted_look(self, concept: PersonalConcept, photo: ConceptPhoto) -> str:
        """Returns the stated look by which the question tells the concept from all others; else ""."""
        return quoted_look(self.words, concept, photo, self.group.all_concepts)
