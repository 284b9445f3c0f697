"""A group as its checks see it: who says and shows what in which turn, and what each question needs to be seen on a photo.

The need for photos is derived only here, for every generator and again for each folder that is read.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Literal

from data_synthesis.classes import fact_asked
from data_synthesis.dates import expressions_in, resolve
from data_synthesis.group import (
    OPEN_DOMAIN,
    VISUAL_RETRIEVAL,
    ConceptPhoto,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    SeenDetail,
    TurnPlace,
)
from data_synthesis.photo_facts import (
    POSES,
    Fact,
    american_words,
    facts_of,
    look_texts,
    look_words,
    short_setting,
    tells_apart,
    without_remarks,
    words_of_look,
)
from data_synthesis.wording import content_of, holds, long_sentences, sentences, sentences_of, whole_words

_NEAR = 2  # turns: this far from a photo, words may still be about it
CORRECTS = re.compile(
    r"\b(?:wrong|turns out|mix(?:ed|ing)?(?: \w+)?[ -]up|take (?:something|it|that) back|my fault|correct(?:ion)?|mistake|"
    r"told you it was|forget the day)\b",
    re.I,
)
AnsweringFact = tuple[PersonalConcept, ConceptPhoto, Fact]


def in_words(place: TurnPlace) -> str:
    return f"session {place.session}, turn {place.turn}"


@dataclass(frozen=True, slots=True)
class Need:
    """A detail, in `words`, that must be seen on a photo shown at `place`. `said_at` is a turn that says it, if any does.

    `tells` is what the detail tells: the answer, which photo of a concept is meant, or which concept.
    """

    tells: Literal["answer", "photo", "concept"]
    concept: PersonalConcept
    photo: ConceptPhoto
    place: TurnPlace
    words: str
    said_at: TurnPlace | None


class GroupView:
    """A group with its request, indexed by turn, photo and concept."""

    def __init__(
        self, group: GeneratedGroup, request: GroupRequest, turn_name: Callable[[TurnPlace], str] = in_words
    ) -> None:
        """`turn_name` gives the name of a turn in the sentences about faults."""
        self.group, self.request, self.turn_name = group, request, turn_name
        self.concepts = request.group.concepts
        self.all_concepts = (*self.concepts, *request.elsewhere)
        self.owners = {photo.path: (concept, photo) for concept in self.concepts for photo in concept.photos}
        self.turns: dict[TurnPlace, GeneratedTurn] = {}
        self.shown: dict[Path, list[TurnPlace]] = {}
        self.first_said: dict[str, TurnPlace] = {}
        for session, turns in enumerate(group.sessions, start=1):
            for number, turn in enumerate(turns, start=1):
                place = TurnPlace(session, number)
                self.turns[place] = turn
                for photo in turn.photos:
                    self.shown.setdefault(photo, []).append(place)
                for sentence in sentences(turn.text):
                    self.first_said.setdefault(sentence, place)

    # Turns

    @cached_property
    def turns_about(self) -> dict[str, list[TurnPlace]]:
        """By the name of each concept, the turns that name it, name no concept and answer such a turn, or are near its photo."""
        about, unnamed = {}, {place for place, turn in self.turns.items() if not self.concepts_in(turn.text)}
        for concept in self.concepts:
            places = {place for place, turn in self.turns.items() if holds(turn.text, concept.name)}
            places |= {TurnPlace(place.session, place.turn + 1) for place in places} & unnamed
            for shown in self.turns_showing(concept):
                places |= {TurnPlace(shown.session, shown.turn + step) for step in range(-_NEAR, _NEAR + 1)}
            about[concept.name] = [place for place in self.turns if place in places]
        return about

    @cached_property
    def visible_words(self) -> frozenset[str]:
        """The words for visible things, as far as they are stated of a photo of the dialogue."""
        return frozenset().union(*map(self.stated_words, self.all_concepts)) - POSES

    @cached_property
    def sentences_elsewhere(self) -> frozenset[str]:
        """The long sentences of the dialogue's other turns."""
        return frozenset(sentence for text in self.request.texts_elsewhere for sentence in long_sentences(text))

    @cached_property
    def name_words(self) -> frozenset[str]:
        """The words of the names of the concepts, and the names of the speakers."""
        return frozenset(word for concept in self.concepts for word in concept.name.split()) | {*self.request.speakers}

    @cached_property
    def _words_elsewhere(self) -> dict[str, list[frozenset[str]]]:
        """The words of each of the dialogue's other turns that name a concept; "the dog" may be any dog there."""
        names = [concept.name for concept in self.concepts if not concept.name.startswith("the ")]
        return {
            name: [content_of(text) for text in self.request.texts_elsewhere if holds(text, name)] for name in names
        }

    def concepts_in(self, text: str) -> list[PersonalConcept]:
        return [concept for concept in self.concepts if holds(text, concept.name)]

    def concepts_shown_at(self, place: TurnPlace) -> list[PersonalConcept]:
        photos = self.turns[place].photos if place in self.turns else ()
        return [concept for concept in self.concepts if any(own.path in photos for own in concept.photos)]

    def turns_showing(self, concept: PersonalConcept) -> list[TurnPlace]:
        """The turns that show a concept, in their order."""
        return sorted(place for photo in concept.photos for place in self.shown.get(photo.path, ()))

    def turn_before(self, place: TurnPlace) -> GeneratedTurn | None:
        """The turn before in the same session."""
        return self.turns.get(TurnPlace(place.session, place.turn - 1))

    def words_at(self, place: TurnPlace) -> frozenset[str]:
        return content_of(self.turns[place].text)

    def stated_words(self, concept: PersonalConcept, photos: Sequence[Path] | None = None) -> frozenset[str]:
        """All words that are stated of the photos of a concept, or of those given."""
        own = [photo for photo in (*concept.photos, *concept.unseen) if photos is None or photo.path in photos]
        return frozenset().union(*(fact.words for photo in own for fact in facts_of(concept, photo)))

    def date_of(self, place: TurnPlace) -> date | None:
        times = self.request.placement.times
        return times[place.session - 1].date() if 1 <= place.session <= len(times) else None

    def dates_in(self, place: TurnPlace) -> list[tuple[str, date]]:
        """The expressions of time in a turn with their dates; the first one, "", is for the day of the turn itself."""
        dates = []
        if (day := self.date_of(place)) is not None:
            for expression in ("", *expressions_in(self.turns[place].text)):
                with suppress(ValueError):
                    dates.append((expression, resolve(expression, day)))
        return dates

    def dated_sentences(self, place: TurnPlace) -> Iterator[tuple[str, date]]:
        """The sentences with an expression of time, each with its date, of a turn without a photo."""
        if (day := self.date_of(place)) is None or self.turns[place].photos:
            return
        for sentence in sentences_of(self.turns[place].text):
            for expression in expressions_in(sentence):
                with suppress(ValueError):
                    yield sentence, resolve(expression, day)

    def turn_saying(self, words: frozenset[str], concept: PersonalConcept) -> TurnPlace | None:
        """The first turn about the concept that says all of the words."""
        words -= content_of(concept.name)
        about = self.turns_about[concept.name]
        return next((place for place in about if words and words <= self.words_at(place)), None)

    def where_said(self, words: frozenset[str], concept: PersonalConcept) -> str | None:
        """The name of a turn about the concept that says all of the words, in the group or in the rest of the dialogue."""
        if place := self.turn_saying(words, concept):
            return self.turn_name(place)
        words -= content_of(concept.name)
        elsewhere = words and any(words <= turn for turn in self._words_elsewhere.get(concept.name, ()))
        return "a turn outside of its group" if elsewhere else None

    def turn_with_any(self, words: frozenset[str]) -> TurnPlace | None:
        """The first turn of the sessions that says one of the words."""
        return next((place for place in self.turns if words & self.words_at(place)), None)

    # The evidence of a question, and what must be seen on its photos

    def evidence_of(self, question: GeneratedQuestion) -> list[TurnPlace]:
        """The turns of its evidence that exist."""
        return [place for place in question.evidence if place in self.turns]

    def evidence_photos(self, question: GeneratedQuestion) -> Iterator[tuple[PersonalConcept, ConceptPhoto, TurnPlace]]:
        for place in self.evidence_of(question):
            yield from ((*self.owners[path], place) for path in self.turns[place].photos if path in self.owners)

    def evidence_answers(self, question: GeneratedQuestion) -> bool:
        """Whether the texts of its evidence hold the words of the answer."""
        return content_of(question.answer) <= frozenset().union(*map(self.words_at, self.evidence_of(question)))

    def seen_details(self, question: GeneratedQuestion) -> tuple[SeenDetail, ...]:
        """The details that must be seen on the photos of its evidence, or on its own photo, to answer the question."""

        def meant_by(concept: PersonalConcept) -> tuple[TurnPlace, ...]:
            evidence = self.evidence_of(question)
            return tuple(place for place in evidence if holds(self.turns[place].text, concept.name))

        if question.photos:
            return tuple(
                SeenDetail(photo, f"that it is {concept.name}", None, meant_by(concept))
                for photo in question.photos
                for concept in self.concepts
                if photo in [own.path for own in concept.unseen]
            )
        details: dict[tuple[Path, str], SeenDetail] = {}
        for need in self.needs(question):
            if need.said_at is None:
                path, places = need.photo.path, meant_by(need.concept) or (need.place,)
                details.setdefault((path, need.words), SeenDetail(path, need.words, need.place, places))
        return tuple(details.values())

    def needs(self, question: GeneratedQuestion) -> Iterator[Need]:
        """What must be seen on the photos of its evidence, photo by photo."""
        for concept, photo, place in self.evidence_photos(question):
            for tells, words, forms in self._needed(question, concept, photo):
                turns = (self.turn_saying(form, concept) for form in forms)
                yield Need(tells, concept, photo, place, words, next(filter(None, turns), None))

    def _needed(
        self, question: GeneratedQuestion, concept: PersonalConcept, photo: ConceptPhoto
    ) -> Iterator[tuple[Literal["answer", "photo", "concept"], str, list[frozenset[str]]]]:
        """What must be seen on the photo: what it tells, in words, and the forms in which a turn might say it."""
        for owner, own, fact in self.answering_facts(question):
            if owner is concept and own is photo:
                yield "answer", fact.text, [content_of(question.answer), content_of(fact.text)]
        words, class_words = content_of(question.text), content_of(concept.class_name)
        if concept in self.concepts_in(question.text):
            if quoted := self.quoted_words(words, concept, photo):
                yield "photo", photo.setting, [quoted]
            known = fact_asked(question.text, concept) if question.category == OPEN_DOMAIN else None
            subject = known.subject if known else concept.class_name
            class_said = class_words & content_of(concept.name) or self.turn_with_any(class_words)
            if question.category == OPEN_DOMAIN and concept.class_name and not class_said:
                yield "answer", subject, [class_words, content_of(subject)]
        elif (look := self.quoted_look(words, concept, photo)) and not (
            words & class_words and self.turn_saying(class_words, concept)
        ):
            yield "concept", look, [content_of(look) & words - class_words]
        if not facts_of(concept, photo) and question.derivation is None and not self.evidence_answers(question):
            yield "answer", question.answer, [content_of(question.answer)]

    def answering_facts(self, question: GeneratedQuestion) -> list[AnsweringFact]:
        """For each photo of a concept that the question may be about, the first fact that holds the answer.

        Empty where a date is asked for.
        """
        named, answer, facts = self.concepts_in(question.text), content_of(question.answer), []
        for concept, photo, _ in self.evidence_photos(question) if question.derivation is None else ():
            if not named or concept in named:
                candidates = self._facts_asked_for(question, concept, photo)
                facts += [(concept, photo, fact) for fact in candidates if answer <= fact.words][:1]
        return facts

    def _facts_asked_for(
        self, question: GeneratedQuestion, concept: PersonalConcept, photo: ConceptPhoto
    ) -> Sequence[Fact]:
        """The facts that the question may be about: the settings if it asks where, the attributes that it names, or all."""
        facts, words = facts_of(concept, photo), content_of(question.text)
        if question.category == VISUAL_RETRIEVAL:
            return [fact for fact in facts if fact.kind == "answer" and fact.asked_by(words)] or facts
        if whole_words(question.text)[:1] == ("where",):
            return [fact for fact in facts if fact.kind == "setting"]
        words = (words | american_words(question.text)) - content_of(concept.name)
        return [fact for fact in facts if fact.asked_by(words)] or facts

    def quoted_words(
        self, question_words: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto
    ) -> frozenset[str]:
        """The words of its setting by which a question tells the photo from all others of its concept; else none."""
        if not photo.setting:
            return frozenset()
        head = content_of(short_setting(photo.setting))
        words = question_words & (content_of(photo.setting) - POSES)
        others = (content_of(f"{one.setting} {one.description}") for one in concept.photos if one is not photo)
        enough = len(words) > 1 or 2 * len(words & head) >= len(head - POSES)
        return words if enough and tells_apart(words, others) else frozenset()

    def quoted_look(self, question_words: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto) -> str:
        """The stated look by which a question tells the concept from all others; else ""."""
        others = [look_words(other) for other in self.all_concepts if other is not concept]
        for text in map(without_remarks, look_texts(concept, photo)):
            words = words_of_look(concept, [text])
            if words and words <= question_words and not any(words <= other for other in others):
                return text
        return ""
