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
from data_synthesis.wording import (
    QUOTED,
    comparable_sentences,
    contains_phrase,
    content_of,
    long_sentences,
    names_of,
    sentences_of,
)

_NEAR = 2  # turns: this far from a photo, words may still be about it
CORRECTS = re.compile(
    r"\b(?:wrong|turns out|mix(?:ed|ing)?(?: \w+)?[ -]up|take (?:something|it|that) back|my fault|correct(?:ion)?|mistake|"
    r"told you it was|forget the day)\b",
    re.I,
)


def in_words(place: TurnPlace) -> str:
    return f"session {place.session}, turn {place.turn}"


class TurnView:
    """A turn: the concepts that it names and shows, its day (None without a date), and the turn before in its session."""

    def __init__(self, turn: GeneratedTurn, place: TurnPlace, previous: "TurnView | None", group: "GroupView") -> None:
        self.place, self.previous, self.name = place, previous, group.turn_name(place)
        self._name_words = group.name_words
        self.speaker, self.text, self.photos = turn.speaker, turn.text, turn.photos
        self.words, self.named = content_of(turn.text), group.concepts_in(turn.text)
        self.shown = [
            concept for concept in group.concepts if any(photo.path in turn.photos for photo in concept.photos)
        ]
        times = group.request.placement.times
        self.time = times[place.session - 1] if place.session <= len(times) else None
        self.day = self.time.date() if self.time else None

    @cached_property
    def sentences(self) -> list[str]:
        return sentences_of(self.text)

    @cached_property
    def quoted(self) -> list[str]:
        """The names and sayings in quotation marks."""
        return QUOTED.findall(self.text)

    @cached_property
    def new_names(self) -> set[str]:
        """The names in the turn that are neither a speaker's nor a concept's."""
        return names_of(self.text) - self._name_words

    @cached_property
    def dates(self) -> list[tuple[str, date]]:
        """The expressions of time in the turn with their dates; the first one, "", is for the day of the turn itself."""
        dates, day = list[tuple[str, date]](), self.day
        for expression in ("", *expressions_in(self.text)):
            with suppress(ValueError):
                dates += [(expression, resolve(expression, day))] if day else []
        return dates


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
        self.turns: dict[TurnPlace, TurnView] = {}
        self.shown: dict[Path, list[TurnView]] = {}
        self.first_said: dict[str, TurnView] = {}
        for session, turns in enumerate(group.sessions, start=1):
            previous = None
            for number, turn in enumerate(turns, start=1):
                place = TurnPlace(session, number)
                previous = self.turns[place] = TurnView(turn, place, previous, self)
                for photo in turn.photos:
                    self.shown.setdefault(photo, []).append(previous)
                for sentence in comparable_sentences(turn.text):
                    self.first_said.setdefault(sentence, previous)

    @cached_property
    def turns_about(self) -> dict[str, list[TurnView]]:
        """Returns, by concept name, the turns about it.

        These name it, follow such a turn without naming a concept, or are near its photo.
        """
        about = {}
        for concept in self.concepts:
            near = {
                TurnPlace(turn.place.session, turn.place.turn + step)
                for turn in self.turns_showing(concept)
                for step in range(-_NEAR, _NEAR + 1)
            }
            about[concept.name] = [
                turn
                for place, turn in self.turns.items()
                if concept in turn.named
                or place in near
                or (not turn.named and turn.previous and concept in turn.previous.named)
            ]
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
        names, texts = [concept.name for concept in self.concepts], self.request.texts_elsewhere
        return {
            name: [content_of(text) for text in texts if contains_phrase(text, name) and not name.startswith("the ")]
            for name in names
        }

    def concepts_in(self, text: str) -> list[PersonalConcept]:
        return [concept for concept in self.concepts if contains_phrase(text, concept.name)]

    def turns_showing(self, concept: PersonalConcept) -> list[TurnView]:
        """Returns the turns that show a concept, in their order."""
        return [turn for turn in self.turns.values() if concept in turn.shown]

    def stated_words(self, concept: PersonalConcept, photos: Sequence[Path] | None = None) -> frozenset[str]:
        """Returns all words that are stated of the photos of a concept, or of those given."""
        stated = [photo for photo in (*concept.photos, *concept.unseen) if photos is None or photo.path in photos]
        return frozenset().union(*(fact.words for photo in stated for fact in facts_of(concept, photo)))

    def turn_saying(self, words: frozenset[str], concept: PersonalConcept) -> TurnView | None:
        """Returns the first turn about the concept that says all of the words."""
        words -= content_of(concept.name)
        return next((turn for turn in self.turns_about[concept.name] if words and words <= turn.words), None)

    def where_said(self, words: frozenset[str], concept: PersonalConcept) -> str | None:
        """Returns the name of a turn about the concept, in the group or the rest of the dialogue, that says all of the words."""
        if turn := self.turn_saying(words, concept):
            return turn.name
        words -= content_of(concept.name)
        elsewhere = words and any(words <= turn for turn in self._words_elsewhere[concept.name])
        return "a turn outside of its group" if elsewhere else None

    def turn_with_any(self, words: frozenset[str]) -> TurnView | None:
        """Returns the first turn of the sessions that says one of the words."""
        return next((turn for turn in self.turns.values() if words & turn.words), None)
