"""A group as its checks see it: who says and shows what in which turn."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import date
from functools import cached_property
from pathlib import Path

from data_synthesis.dates import expressions_in, resolve
from data_synthesis.group import GeneratedGroup, GeneratedTurn, GroupRequest, PersonalConcept, TurnPlace
from data_synthesis.photo_facts import POSES, facts_of
from data_synthesis.wording import content_of, holds, long_sentences, sentences

_NEAR = 2  # turns: this far from a photo, words may still be about it
CORRECTS = re.compile(
    r"\b(?:wrong|turns out|mix(?:ed|ing)?(?: \w+)?[ -]up|take (?:something|it|that) back|my fault|correct(?:ion)?|mistake|"
    r"told you it was|forget the day)\b",
    re.I,
)


def in_words(place: TurnPlace) -> str:
    return f"session {place.session}, turn {place.turn}"


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
