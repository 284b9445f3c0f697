"""What must be seen on which photo to answer a question, out of what is stated of concepts and photos.

It is derived here alone, for every generator and again for a folder that was read; no generator is trusted with it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

from data_synthesis.attributes import ATTRIBUTE_QUESTIONS
from data_synthesis.dates import expressions_in, resolve
from data_synthesis.group import (
    VISUAL_RETRIEVAL,
    ConceptPhoto,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    Seen,
    TurnPlace,
)
from data_synthesis.wording import content_of, holds, long_sentences, sentences, sentences_of, whole_words

OPEN_DOMAIN = 8
_NEAR = 2  # turns; so far from a photo words may still be about it
# How somebody stands or is turned tells a photo from another only to who has both before them.
POSES = content_of(
    "facing camera looking left right side front close up view seen standing sitting lying walking head body visible "
    "small large big lower middle near full fully partly half one two upright turned back next other"
)
_ASKS_LITTLE = (
    content_of("colour color main look looks type kind shape detail visible brand item base picture photo") | POSES
)
_ASKED_OF_ANY = content_of("what which how is are does do can be has have like look colour color main there")
CORRECTS = re.compile(
    r"\b(?:wrong|turns out|mix(?:ed|ing)?(?: \w+)?[ -]up|take (?:something|it|that) back|my fault|correct(?:ion)?|mistake|"
    r"told you it was|forget the day)\b",
    re.I,
)
_PART_ENDS = re.compile(r"[,;()/]|\b(?:with|and|or|in|on|at|by|of|to|from|around|behind|above|below|held|tied)\b")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is stated of a photo. `topics` are sets of words; each of them asks for it. `short` are further
    answers that are stated with it."""

    kind: Literal["setting", "attribute", "look", "asked"]
    text: str
    words: frozenset[str]
    topics: tuple[frozenset[str], ...] = ()
    short: tuple[str, ...] = ()

    def asked_by(self, words: frozenset[str]) -> bool:
        return any(topic <= words for topic in self.topics)

    @property
    def heads(self) -> frozenset[str]:
        """The words that carry it: the last of each of its parts. "Dark" alone is not "dark brown"."""
        parts = (whole_words(part) for part in _PART_ENDS.split(self.text))
        return content_of(" ".join(part[-1] for part in parts if part))


@lru_cache(maxsize=1024)
def facts_of(concept: PersonalConcept, photo: ConceptPhoto) -> tuple[Fact, ...]:
    """All that is stated of what a photo of a concept shows."""
    facts = []
    for text in filter(None, (photo.setting, photo.description)):
        facts.append(Fact("setting", text, content_of(text)))
    for one in concept.attributes:
        if not one.photos or photo.path in one.photos:
            key = " ".join(re.split(r"[_\W]+", one.key))
            words = content_of(" ".join((one.value, *one.accepted, key)))
            question = re.sub(r"\{N\}('s)?|[\[\]|]", " ", ATTRIBUTE_QUESTIONS.get(one.key, ""))
            topics = filter(None, (content_of(key) - _ASKS_LITTLE, content_of(question) - _ASKED_OF_ANY))
            facts.append(Fact("attribute", one.value, words, tuple(topics) or (_american(key),), one.accepted))
    if concept.short_description:
        words = content_of(f"{concept.short_description} {concept.class_name}")
        facts.append(Fact("look", concept.short_description, words))
    facts += [
        Fact("asked", one.answer, content_of(one.answer), (content_of(one.text) - {"sks"},))
        for one in concept.questions
        if one.photo == photo.path
    ]
    return tuple(facts)


def plain_look(look: str) -> str:
    """A look without its remarks in brackets."""
    return re.sub(r"\s*\([^()]*\)", "", look)


def _american(text: str) -> frozenset[str]:
    return content_of(text.lower().replace("colour", "color"))


def look_words(concept: PersonalConcept) -> frozenset[str]:
    """The words for what a concept looks like, its class apart."""
    return content_of(" ".join(_look_texts(concept))) - content_of(concept.class_name) - POSES


def _look_texts(concept: PersonalConcept, photo: ConceptPhoto | None = None) -> list[str]:
    visible = (one for one in concept.attributes if not one.photos or photo is None or photo.path in one.photos)
    texts = [concept.short_description, *(text for one in visible for text in (one.value, *one.accepted))]
    return [text for text in texts if text]


def short_setting(setting: str) -> str:
    """A setting without what follows its main part."""
    return re.split(r",| with | in front of | seen | behind\b", setting)[0].strip()


def in_words(place: TurnPlace) -> str:
    return f"session {place.session}, turn {place.turn}"


Answering = tuple[PersonalConcept, ConceptPhoto, Fact]


@dataclass(frozen=True, slots=True)
class Need:
    """What must be seen on a photo that a turn shows, in words, unless another turn has `told` it."""

    concept: PersonalConcept
    photo: ConceptPhoto
    place: TurnPlace
    words: str
    told: TurnPlace | None


class Sight:
    """What can be seen in a group of sessions, and what their words tell of it."""

    def __init__(
        self,
        group: GeneratedGroup,
        request: GroupRequest,
        turn_name: Callable[[TurnPlace], str] = in_words,
    ) -> None:
        """`turn_name` is how sentences name a turn."""
        self.group, self.request, self.turn_name = group, request, turn_name
        self.concepts = request.group.concepts
        self.everyone = (*self.concepts, *request.elsewhere)
        self.owners = {photo.path: (one, photo) for one in self.concepts for photo in one.photos}
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

    @cached_property
    def about(self) -> dict[str, list[TurnPlace]]:
        """The turns that speak of each concept: that name it, name none and answer one that does, or stand near its photo."""
        about, unnamed = {}, {place for place, turn in self.turns.items() if not self.named_in(turn.text)}
        for concept in self.concepts:
            places = {place for place, turn in self.turns.items() if holds(turn.text, concept.name)}
            places |= {TurnPlace(at.session, at.turn + 1) for at in places} & unnamed
            for at in self.showing(concept):
                places |= {TurnPlace(at.session, at.turn + step) for step in range(-_NEAR, _NEAR + 1)}
            about[concept.name] = [place for place in self.turns if place in places]
        return about

    @cached_property
    def visible(self) -> frozenset[str]:
        """The words for what can be seen, as far as something of the dialogue's photos is stated in them."""
        shown = [(one, photo) for one in self.everyone for photo in (*one.photos, *one.unseen)]
        stated = (fact.words for one, photo in shown for fact in facts_of(one, photo))
        return frozenset().union(*stated) - POSES

    @cached_property
    def said_elsewhere(self) -> frozenset[str]:
        """The long sentences of the dialogue's other turns."""
        return frozenset(sentence for text in self.request.texts_elsewhere for sentence in long_sentences(text))

    @cached_property
    def names(self) -> frozenset[str]:
        """The words of the names of the concepts and the speakers."""
        return frozenset(word for one in self.concepts for word in one.name.split()) | {*self.request.speakers}

    def named_in(self, text: str) -> list[PersonalConcept]:
        return [one for one in self.concepts if holds(text, one.name)]

    def shown_at(self, place: TurnPlace) -> list[PersonalConcept]:
        photos = self.turns[place].photos if place in self.turns else ()
        return [one for one in self.concepts if any(own.path in photos for own in one.photos)]

    def stated(self, concept: PersonalConcept, photos: Sequence[Path] | None = None) -> frozenset[str]:
        """All words that are stated of photos of a concept, or of those named."""
        views = [one for one in (*concept.photos, *concept.unseen) if photos is None or one.path in photos]
        return frozenset().union(*(fact.words for view in views for fact in facts_of(concept, view)))

    def showing(self, concept: PersonalConcept) -> list[TurnPlace]:
        """The turns that show a concept, in their order."""
        return sorted(at for photo in concept.photos for at in self.shown.get(photo.path, ()))

    def words(self, place: TurnPlace) -> frozenset[str]:
        return content_of(self.turns[place].text)

    def day(self, place: TurnPlace) -> date | None:
        times = self.request.placement.times
        return times[place.session - 1].date() if 1 <= place.session <= len(times) else None

    def dates_told(self, place: TurnPlace) -> list[tuple[str, date]]:
        """The expressions of a turn, "" for its own day among them, with the days that they mean."""
        found = []
        if (day := self.day(place)) is not None:
            for expression in ("", *expressions_in(self.turns[place].text)):
                with suppress(ValueError):
                    found.append((expression, resolve(expression, day)))
        return found

    def dated_sentences(self, place: TurnPlace) -> Iterator[tuple[str, date]]:
        """The sentences of a turn without a photo that tell a day, each with it."""
        if (day := self.day(place)) is None or self.turns[place].photos:
            return
        for sentence in sentences_of(self.turns[place].text):
            for expression in expressions_in(sentence):
                with suppress(ValueError):
                    yield sentence, resolve(expression, day)

    def places(self, question: GeneratedQuestion) -> list[TurnPlace]:
        """Its evidence, as far as that exists."""
        return [place for place in question.evidence if place in self.turns]

    def telling(self, words: frozenset[str], concept: PersonalConcept) -> TurnPlace | None:
        """The first turn about the concept that says all of the words."""
        words -= content_of(concept.name)
        return next((at for at in self.about[concept.name] if words and words <= self.words(at)), None)

    @cached_property
    def _about_elsewhere(self) -> dict[str, list[frozenset[str]]]:
        """The words of the dialogue's other turns that name each concept; "the dog" may be any dog there."""
        names = [one.name for one in self.concepts if not one.name.startswith("the ")]
        return {
            name: [content_of(text) for text in self.request.texts_elsewhere if holds(text, name)] for name in names
        }

    def told_elsewhere(self, words: frozenset[str], concept: PersonalConcept) -> bool:
        words -= content_of(concept.name)
        return bool(words) and any(words <= said for said in self._about_elsewhere.get(concept.name, ()))

    def told_anywhere(self, words: frozenset[str]) -> TurnPlace | None:
        """The first turn of the sessions that says one of the words."""
        return next((at for at in self.turns if words & self.words(at)), None)

    def said(self, question: GeneratedQuestion) -> bool:
        """Whether the words of its evidence say the answer."""
        return content_of(question.answer) <= frozenset().union(*map(self.words, self.places(question)))

    # What a question needs

    def seen_for(self, question: GeneratedQuestion) -> tuple[Seen, ...]:
        """What of the photos of its evidence, or of its own, must be seen to answer it; nothing where no photo is needed."""
        if question.photos:
            return tuple(
                Seen(photo, f"that it is {concept.name}", None, self._meant_by(question, concept))
                for photo in question.photos
                for concept in self.concepts
                if photo in [own.path for own in concept.unseen]
            )
        found: dict[tuple[Path, str], Seen] = {}
        for need in self.needs(question):
            if need.told is None:
                seen = Seen(
                    *(need.photo.path, need.words, need.place),
                    self._meant_by(question, need.concept) or (need.place,),
                )
                found.setdefault((need.photo.path, need.words), seen)
        return tuple(found.values())

    def needs(self, question: GeneratedQuestion) -> Iterator[Need]:
        """What must be seen on the photos of its evidence, each photo after the other."""
        for concept, photo, place in self.shown_by(question):
            for words, forms in self._needed(question, concept, photo):
                told = next(filter(None, (self.telling(form, concept) for form in forms)), None)
                yield Need(concept, photo, place, words, told)

    def shown_by(self, question: GeneratedQuestion) -> Iterator[tuple[PersonalConcept, ConceptPhoto, TurnPlace]]:
        for place in self.places(question):
            yield from ((*self.owners[path], place) for path in self.turns[place].photos if path in self.owners)

    def named(self, question: GeneratedQuestion) -> list[PersonalConcept]:
        return self.named_in(question.text)

    def answered(self, question: GeneratedQuestion) -> list[Answering]:
        """Of each photo of whom the question is about the first fact that says the answer; nothing where a date is asked."""
        named, answer, found = self.named(question), content_of(question.answer), []
        for concept, photo, _ in self.shown_by(question) if question.derivation is None else ():
            if not named or concept in named:
                facts = self._facts_asked(question, concept, photo)
                found += [(concept, photo, fact) for fact in facts if answer <= fact.words][:1]
        return found

    def _facts_asked(
        self, question: GeneratedQuestion, concept: PersonalConcept, photo: ConceptPhoto
    ) -> Sequence[Fact]:
        """Those that the question can be about: the setting if it asks where, an attribute that it names."""
        facts, asked = facts_of(concept, photo), content_of(question.text)
        if question.category == VISUAL_RETRIEVAL:
            return [fact for fact in facts if fact.kind == "asked" and fact.asked_by(asked)] or facts
        if whole_words(question.text)[:1] == ["where"]:
            return [fact for fact in facts if fact.kind == "setting"]
        asked = (asked | _american(question.text)) - content_of(concept.name)
        return [fact for fact in facts if fact.asked_by(asked)] or facts

    def _needed(
        self, question: GeneratedQuestion, concept: PersonalConcept, photo: ConceptPhoto
    ) -> Iterator[tuple[str, list[frozenset[str]]]]:
        """What must be seen on the photo in words, each with the forms in which a turn might tell it."""
        for owner, own, fact in self.answered(question):
            if owner is concept and own is photo:
                yield fact.text, [content_of(question.answer), content_of(fact.text)]
        asked, kind = content_of(question.text), content_of(concept.class_name)
        if concept in self.named(question):
            if quoted := self.quoted(asked, concept, photo):
                yield photo.setting, [quoted]
            told = kind & content_of(concept.name) or self.told_anywhere(kind)
            if question.category == OPEN_DOMAIN and concept.class_name and not told:
                yield concept.class_name, [kind]
        elif (phrase := self.look(asked, concept, photo)) and not (asked & kind and self.telling(kind, concept)):
            yield phrase, [content_of(phrase) & asked - kind]
        if not facts_of(concept, photo) and question.derivation is None and not self.said(question):
            yield question.answer, [content_of(question.answer)]

    def quoted(self, asked: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto) -> frozenset[str]:
        """The words of its setting by which the question tells the photo from all others of its concept; else nothing."""
        if not photo.setting:
            return frozenset()
        head, words = content_of(short_setting(photo.setting)), asked & (content_of(photo.setting) - POSES)
        others = (content_of(f"{one.setting} {one.description}") for one in concept.photos if one is not photo)
        enough = len(words) > 1 or 2 * len(words & head) >= len(head - POSES)
        return words if words and enough and not any(words <= other for other in others) else frozenset()

    def look(self, asked: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto) -> str:
        """The words by which the question tells the concept from all others, out of what is stated of its looks."""
        others = [look_words(one) for one in self.everyone if one is not concept]
        for text in _look_texts(concept, photo):
            text = plain_look(text)
            words = content_of(text) - content_of(concept.class_name) - POSES
            if words and words <= asked and not any(words <= other for other in others):
                return text
        return ""

    def _meant_by(self, question: GeneratedQuestion, concept: PersonalConcept) -> tuple[TurnPlace, ...]:
        return tuple(place for place in self.places(question) if holds(self.turns[place].text, concept.name))
