"""What must be seen on which photo to answer a question, and whether its photo can be done without.

Everything rests on what is stated of concepts and photos: attributes, settings, the concept set's own answers. It is
derived here alone, for every generator and again for a folder that was read; no generator is trusted with it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from data_synthesis.dates import MONTHS, expressions_in, resolve, written
from data_synthesis.group import (
    VISUAL_RETRIEVAL,
    ConceptPhoto,
    GeneratedGroup,
    GeneratedQuestion,
    GroupRequest,
    PersonalConcept,
    Seen,
    TurnPlace,
)
from data_synthesis.wording import content_of, holds, whole_words

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
_DAY = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b")


@dataclass(frozen=True, slots=True)
class Fact:
    """Something that is stated of a photo. `topic` are the words that ask for it."""

    kind: Literal["setting", "attribute", "look", "asked"]
    text: str
    words: frozenset[str]
    topic: frozenset[str] = frozenset()


def facts_of(concept: PersonalConcept, photo: ConceptPhoto) -> list[Fact]:
    """All that is stated of what a photo of a concept shows."""
    facts = []
    for text in filter(None, (photo.setting, photo.description)):
        facts.append(Fact("setting", text, content_of(text)))
    for one in concept.attributes:
        if not one.photos or photo.path in one.photos:
            key = " ".join(re.split(r"[_\W]+", one.key))
            facts.append(
                Fact(
                    "attribute",
                    one.value,
                    content_of(" ".join((one.value, *one.accepted, key))),
                    content_of(key) - _ASKS_LITTLE,
                )
            )
    if concept.short_description:
        words = content_of(f"{concept.short_description} {concept.class_name}")
        facts.append(Fact("look", concept.short_description, words))
    facts += [
        Fact("asked", one.answer, content_of(one.answer), content_of(one.text))
        for one in concept.questions
        if one.photo == photo.path
    ]
    return facts


def look_words(concept: PersonalConcept) -> frozenset[str]:
    """The words for what a concept looks like, its class apart."""
    texts = [concept.short_description]
    texts += [text for one in concept.attributes for text in (one.value, *one.accepted)]
    return content_of(" ".join(texts)) - content_of(concept.class_name) - POSES


def short_setting(setting: str) -> str:
    """A setting without what follows its main part."""
    return re.split(r",| with | in front of | seen | behind\b", setting)[0].strip()


def in_words(place: TurnPlace) -> str:
    return f"session {place.session}, turn {place.turn}"


class Sight:
    """What can be seen in a group of sessions, and what their words tell of it."""

    def __init__(
        self,
        group: GeneratedGroup,
        request: GroupRequest,
        turn_name: Callable[[TurnPlace], str] = in_words,
        elsewhere: Sequence[str] = (),
    ) -> None:
        """`elsewhere` are the texts of the dialogue's other turns; `turn_name` is how sentences name a turn."""
        self._request, self._elsewhere, self._turn_name = request, elsewhere, turn_name
        self._turns = {
            TurnPlace(session, turn): said
            for session, turns in enumerate(group.sessions, start=1)
            for turn, said in enumerate(turns, start=1)
        }
        self._owners = {photo.path: (one, photo) for one in request.group.concepts for photo in one.photos}

    @cached_property
    def _shown(self) -> dict[Path, list[TurnPlace]]:
        shown: dict[Path, list[TurnPlace]] = {}
        for place, turn in self._turns.items():
            for photo in turn.photos:
                shown.setdefault(photo, []).append(place)
        return shown

    @cached_property
    def _about(self) -> dict[str, list[TurnPlace]]:
        """The turns that speak of each concept: that name it, show it, or stand near one that shows it."""
        about = {}
        for concept in self._request.group.concepts:
            places = {place for place, turn in self._turns.items() if holds(turn.text, concept.name)}
            for photo in concept.photos:
                for at in self._shown.get(photo.path, ()):
                    places |= {TurnPlace(at.session, at.turn + step) for step in range(-_NEAR, _NEAR + 1)}
            about[concept.name] = [place for place in self._turns if place in places]
        return about

    def telling(self, words: frozenset[str], concept: PersonalConcept) -> TurnPlace | None:
        """The first turn about the concept that says all of the words."""
        words -= content_of(concept.name)
        return next((at for at in self._about[concept.name] if words and words <= self._words(at)), None)

    def _told_elsewhere(self, words: frozenset[str], concept: PersonalConcept) -> bool:
        words -= content_of(concept.name)
        return bool(words) and any(words <= content_of(text) and holds(text, concept.name) for text in self._elsewhere)

    def told_anywhere(self, words: frozenset[str]) -> bool:
        """Whether a turn of the sessions says one of the words."""
        return any(words & self._words(at) for at in self._turns)

    def seen_for(self, question: GeneratedQuestion) -> tuple[Seen, ...]:
        """What of the photos of its evidence, or of its own, must be seen to answer it; nothing where no photo is needed."""
        if question.photos:
            return tuple(
                Seen(photo, f"that it is {concept.name}", None, self._meant_by(question, concept))
                for photo in question.photos
                for concept in self._request.group.concepts
                if photo in [own.path for own in concept.unseen]
            )
        found: dict[tuple[Path, str], Seen] = {}
        for concept, photo, place in self._shown_by(question):
            for words, forms in self._needed(question, concept, photo):
                if not any(self.telling(form, concept) for form in forms):
                    seen = Seen(photo.path, words, place, self._meant_by(question, concept) or (place,))
                    found.setdefault((photo.path, words), seen)
        return tuple(found.values())

    def faults(self, question: GeneratedQuestion) -> Iterator[tuple[str, str]]:
        """Why the question can be answered without its photo, or not at all, or in two ways."""
        if not self._request.group.described and question.category != VISUAL_RETRIEVAL:
            return  # nothing is stated that it could be held against
        answered = self._answered(question)
        if question.photos:
            yield from self._faults_of_own_photos(question)
        elif question.derivation is None:
            if telling := next(self._tellings(question, answered), None):
                yield "leakage", telling
                return
            if not answered and question.category != OPEN_DOMAIN and not self._said(question):
                yield "truth", f"neither what is stated of its photos nor its evidence says {question.answer!r}."
                return
            yield from (("truth", sentence) for sentence in self._false_forms(question, answered))
        if not self.seen_for(question):
            yield "photo", "no photo is needed to answer it; ask what one shows, or name its photo or concept by that."
        if not question.photos:
            yield from (("ambiguous", sentence) for sentence in self._ambiguities(question, answered))
            yield from (("truth", sentence) for sentence in self._foreign_dates(question))
        yield from (("truth", sentence) for sentence in self._misplaced(question))

    def _tellings(
        self, question: GeneratedQuestion, answered: Sequence[tuple[PersonalConcept, ConceptPhoto, Fact]]
    ) -> Iterator[str]:
        """What of its answers a turn tells, though it is to be seen; a look is told by the class alone."""
        for concept in (concept for concept, _, fact in answered if fact.kind != "look"):
            for form in (question.answer, *question.accepted):
                if place := self.telling(content_of(form), concept):
                    yield f"{self._turn_name(place)} tells {form!r} of {concept.name}."
                elif self._told_elsewhere(content_of(form), concept):
                    yield f"a turn outside of its group tells {form!r} of {concept.name}."

    def _faults_of_own_photos(self, question: GeneratedQuestion) -> Iterator[tuple[str, str]]:
        """Whether its photo alone might answer it, or it tells whom that shows, or is answered by another one's name."""
        if question.derivation is None and not self._said(question):
            yield "answer", f"its evidence does not say {question.answer!r}, so that its photo alone might tell."
        asked, concepts = content_of(question.text), self._request.group.concepts
        shown = [(one, photo) for one in concepts for photo in one.unseen if photo.path in question.photos]
        for one, photo in shown:
            if any(self._says(fact, question.answer) for fact in facts_of(one, photo)):
                yield (
                    "answer",
                    f"the answer {question.answer!r} can be seen on its photo; ask what only the sessions tell.",
                )
            if self._look(asked, one, photo) or (one.class_name and content_of(one.class_name) <= asked):
                yield "photo", f"it says in words what its photo shows of {one.name}."
            others = [other.name for other in concepts if other is not one]
            if asked & {"called", "name"} and question.answer in others:
                yield "truth", f"its photo shows {one.name}, not {question.answer}."

    # What a question needs

    def _shown_by(self, question: GeneratedQuestion) -> Iterator[tuple[PersonalConcept, ConceptPhoto, TurnPlace]]:
        for place in question.evidence:
            for path in self._turns[place].photos if place in self._turns else ():
                if path in self._owners:
                    yield (*self._owners[path], place)

    def _named(self, question: GeneratedQuestion) -> list[PersonalConcept]:
        return [one for one in self._request.group.concepts if holds(question.text, one.name)]

    def _answered(self, question: GeneratedQuestion) -> list[tuple[PersonalConcept, ConceptPhoto, Fact]]:
        """Of each photo of whom the question is about the first fact that says the answer."""
        named = self._named(question)
        found = []
        for concept, photo, _ in self._shown_by(question):
            if not named or concept in named:
                facts = self._facts_asked(question, concept, photo)
                right = next((fact for fact in facts if self._says(fact, question.answer)), None)
                found += [(concept, photo, right)] if right else []
        return found

    def _facts_asked(self, question: GeneratedQuestion, concept: PersonalConcept, photo: ConceptPhoto) -> list[Fact]:
        """Those that the question can be about: the setting if it asks where, an attribute that it names."""
        facts = facts_of(concept, photo)
        if question.category == VISUAL_RETRIEVAL:
            own = [fact for fact in facts if fact.kind == "asked" and fact.topic <= content_of(question.text) | {"sks"}]
            return own or facts
        if whole_words(question.text)[:1] == ["where"]:
            return [fact for fact in facts if fact.kind == "setting"]
        asked = [fact for fact in facts if fact.topic and fact.topic <= content_of(question.text)]
        return asked or facts

    def _says(self, fact: Fact, answer: str) -> bool:
        return content_of(answer) <= fact.words

    def _needed(
        self, question: GeneratedQuestion, concept: PersonalConcept, photo: ConceptPhoto
    ) -> Iterator[tuple[str, list[frozenset[str]]]]:
        """What must be seen on the photo in words, each with the forms in which a turn might tell it."""
        for owner, own, fact in self._answered(question) if question.derivation is None else ():
            if owner is concept and own is photo:
                yield fact.text, [content_of(question.answer), content_of(fact.text)]
        asked, named = content_of(question.text), self._named(question)
        if concept in named:
            quoted = self._quoted(asked, concept, photo)
            if quoted:
                yield photo.setting, [quoted]
            words = content_of(concept.class_name)
            if question.category == OPEN_DOMAIN and concept.class_name and not self.told_anywhere(words):
                yield concept.class_name, [words]
        elif (phrase := self._look(asked, concept, photo)) and not (
            asked & content_of(concept.class_name) and self.telling(content_of(concept.class_name), concept)
        ):
            yield phrase, [content_of(phrase) & asked - content_of(concept.class_name)]
        if not facts_of(concept, photo) and question.derivation is None and not self._said(question):
            yield question.answer, [content_of(question.answer)]

    def _quoted(self, asked: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto) -> frozenset[str]:
        """The words of its setting by which the question tells the photo from all others of its concept; else nothing."""
        if not photo.setting:
            return frozenset()
        head, words = content_of(short_setting(photo.setting)), asked & (content_of(photo.setting) - POSES)
        others = (content_of(f"{one.setting} {one.description}") for one in concept.photos if one is not photo)
        enough = len(words) > 1 or 2 * len(words & head) >= len(head - POSES)
        return words if words and enough and not any(words <= other for other in others) else frozenset()

    def _look(self, asked: frozenset[str], concept: PersonalConcept, photo: ConceptPhoto) -> str:
        """The words by which the question tells the concept from all others, out of what is stated of its looks."""
        others = [*self._request.group.concepts, *self._request.elsewhere]
        class_words = content_of(concept.class_name)
        texts = [concept.short_description]
        visible = (one for one in concept.attributes if not one.photos or photo.path in one.photos)
        texts += [text for one in visible for text in (one.value, *one.accepted)]
        for text in filter(None, texts):
            text = re.sub(r"\s*\([^()]*\)", "", text)
            words = content_of(text) - class_words - POSES
            if words and words <= asked and not any(words <= look_words(one) for one in others if one is not concept):
                return text
        return ""

    def _meant_by(self, question: GeneratedQuestion, concept: PersonalConcept) -> tuple[TurnPlace, ...]:
        return tuple(
            place
            for place in question.evidence
            if place in self._turns and holds(self._turns[place].text, concept.name)
        )

    # Whether it is so

    def _said(self, question: GeneratedQuestion) -> bool:
        """Whether the words of its evidence say the answer."""
        said = frozenset().union(*(self._words(place) for place in question.evidence if place in self._turns))
        return content_of(question.answer) <= said

    def _false_forms(
        self, question: GeneratedQuestion, answered: Sequence[tuple[PersonalConcept, ConceptPhoto, Fact]]
    ) -> Iterator[str]:
        """Accepted answers that say something else than what the answer follows from."""
        if not answered:
            return
        right = frozenset().union(*(fact.words for *_, fact in answered)) | content_of(question.answer)
        for form in question.accepted:
            if not content_of(form) & right:
                yield f"{form!r} is accepted, but nothing that is stated of its photos says so."

    def _ambiguities(
        self, question: GeneratedQuestion, answered: Sequence[tuple[PersonalConcept, ConceptPhoto, Fact]]
    ) -> Iterator[str]:
        asked = content_of(question.text)
        for concept, photo, fact in answered:
            shown = [one for one in concept.photos if one.path in self._shown]
            if fact.kind != "setting" or len(shown) < 2 or self._points_to(question, concept, photo):
                continue
            others = [
                one
                for one in shown
                if one is not photo and not any(self._says(other, question.answer) for other in facts_of(concept, one))
            ]
            if others:
                yield f"it does not say which of {len(shown)} photos of {concept.name} is meant."
                return
        for concept, photo, _ in self._shown_by(question):
            words = asked & (content_of(photo.setting) - POSES)
            quoted = words and f"{concept.name} {photo.setting}" in question.text
            if quoted and not self._quoted(asked, concept, photo):
                yield f"its words {photo.setting!r} fit another photo of {concept.name} as well."
                return

    def _points_to(self, question: GeneratedQuestion, concept: PersonalConcept, photo: ConceptPhoto) -> bool:
        """Whether the question says which photo of the concept is meant: by its day, by its story, by another photo."""
        asked = content_of(question.text)
        times = self._request.placement.times
        days = {
            written(times[at.session - 1].date()) for at in self._shown.get(photo.path, ()) if at.session <= len(times)
        }
        if any(day in question.text for day in days):
            others = [one for one in concept.photos if one is not photo]
            return not any(
                written(times[at.session - 1].date()) in days
                for one in others
                for at in self._shown.get(one.path, ())
                if at.session <= len(times)
            )
        if any(self._quoted(asked, one, own) for one, own in self._owners.values()):
            return True
        said = [self._words(at) for at in self._shown.get(photo.path, ())]
        elsewhere = [
            self._words(at) for one in concept.photos if one is not photo for at in self._shown.get(one.path, ())
        ]
        distinct = frozenset().union(*said) - frozenset().union(*elsewhere) - content_of(concept.name)
        return len(asked & distinct) >= 2

    def _foreign_dates(self, question: GeneratedQuestion) -> Iterator[str]:
        """A date that the question asks of a photo follows from the turn that shows it, or one that names its concept."""
        if question.derivation is None:
            return
        seen = self.seen_for(question)
        quoted = {one.place for one in seen if one.words in [photo.setting for _, photo in self._owners.values()]}
        concepts = {self._owners[one.photo][0].name for one in seen}
        events = [one for one in (question.derivation.event, question.derivation.since) if one is not None]
        if seen and not any(event.place in self._about[name] for event in events for name in concepts):
            yield f"its date follows from {self._turn_name(events[0].place)}, which is not about {' or '.join(sorted(concepts))}."
        for event in events:
            shows = event.place in self._turns and self._turns[event.place].photos
            if quoted and shows and event.place not in quoted:
                yield f"its date follows from {self._turn_name(event.place)}, which shows another photo."

    def _misplaced(self, question: GeneratedQuestion) -> Iterator[str]:
        """Days and speakers in the question that its evidence does not have."""
        times, places = self._request.placement.times, [place for place in question.evidence if place in self._turns]
        days = {times[place.session - 1].date() for place in places if place.session <= len(times)}
        for place in places:
            for expression in expressions_in(self._turns[place].text):
                with suppress(ValueError):
                    days.add(resolve(expression, times[place.session - 1].date()))
        for day in _DAY.findall(question.text):
            if day not in map(written, days):
                yield f"nothing in its evidence is of {day}."
        showing = {self._turns[place].speaker for place in places if self._turns[place].photos}
        for speaker in self._request.speakers:
            says_so = re.search(rf"\b{re.escape(speaker)} (?:shared?|sent|send|showed|shown)\b", question.text)
            if says_so and showing and speaker not in showing:
                yield f"{speaker} shows no photo in its evidence."

    def _words(self, place: TurnPlace) -> frozenset[str]:
        return content_of(self._turns[place].text)
