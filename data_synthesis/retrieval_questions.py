"""Questions of category 10, visual retrieval: who sees, but remembers nothing, cannot answer them.

One kind comes with a photo of a concept that the dialogue never shows, and does not name the concept: it must be
recognised, and what is asked stands in the words and dates of the dialogue alone. The other kind is a concept set's own
question about a photo that was shown; it comes without the photo.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from data_synthesis.check_group import keeps_the_rules
from data_synthesis.dates import accepted_forms, written
from data_synthesis.group import (
    VISUAL_RETRIEVAL,
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    TurnPlace,
)
from data_synthesis.visual_questions import about_shown_photo
from data_synthesis.wording import bracketed_names, holds, words_of

THE_ONE = "the one in this photo"
Sessions = Sequence[Sequence[GeneratedTurn]]


@dataclass(frozen=True, slots=True)
class Showing:
    """A turn that shows a photo of a concept, and the day on which that is."""

    place: TurnPlace
    photo: Path
    day: date


@dataclass(frozen=True, slots=True)
class Remembered:
    """Something that the dialogue tells of a concept. `text` speaks of THE_ONE; `form` is the kind of thing asked."""

    form: str
    text: str
    answer: str
    evidence: tuple[TurnPlace, ...]
    accepted: tuple[str, ...] = ()
    derivation: Derivation | None = None

    def asked_with(self, photo: Path) -> GeneratedQuestion:
        evidence = tuple(sorted(set(self.evidence), key=lambda place: (place.session, place.turn)))
        return GeneratedQuestion(
            *(VISUAL_RETRIEVAL, self.text, self.answer, evidence, self.accepted, (photo,), self.derivation)
        )


def retrieval_questions(request: GroupRequest, sessions: Sessions) -> list[GeneratedQuestion]:
    """At most one of each kind for a concept, drawn by the group's seed: none with a photo where none is left unseen."""
    drawn = random.Random(f"{request.seed} visual retrieval")
    questions: list[GeneratedQuestion] = []
    right_first = drawn.random() < 0.5
    for concept in request.group.concepts:
        showings = showings_of(concept, request, sessions)
        known = [*by_name(concept, showings, sessions), *by_date(showings)]
        if known and concept.unseen:
            photo = drawn.choice(concept.unseen).path
            askable = asked_by_the_rules((one.asked_with(photo) for one in known), request, sessions)
            questions += [drawn.choice(askable)] if askable else []
        asked = drawn_from_set(concept, showings, request, sessions, drawn, right_first=right_first)
        right_first ^= bool(asked)  # by turns, so that nobody who always takes the same of two options does well
        questions += asked
    return questions


def asked_by_the_rules(
    questions: Iterable[GeneratedQuestion], request: GroupRequest, sessions: Sessions
) -> list[GeneratedQuestion]:
    """Those that break no rule of a group with these sessions."""
    keeps = keeps_the_rules(GeneratedGroup(tuple(map(tuple, sessions)), ()), request)
    return [question for question in questions if keeps(question)]


def showings_of(concept: PersonalConcept, request: GroupRequest, sessions: Sessions) -> list[Showing]:
    """In the order of the dialogue."""
    own = {photo.path for photo in concept.photos}
    return [
        Showing(TurnPlace(session, turn), photo, time.date())
        for session, (turns, time) in enumerate(zip(sessions, request.placement.times, strict=False), start=1)
        for turn, said in enumerate(turns, start=1)
        for photo in said.photos
        if photo in own
    ]


def by_name(concept: PersonalConcept, showings: Sequence[Showing], sessions: Sessions) -> Iterator[Remembered]:
    """What it is called, unless the name may be read from what it looks like, as that of the "Blue Tea Pot"."""
    looks = {word.rstrip("0123456789") for word in words_of(f"{concept.class_name} {concept.short_description}")}
    if not showings or not concept.class_name or looks & {word.rstrip("0123456789") for word in words_of(concept.name)}:
        return
    places = [showing.place for showing in showings]
    if not any(holds(sessions[at.session - 1][at.turn - 1].text, concept.name) for at in places):
        introduced = (
            TurnPlace(session, turn)
            for session, turns in enumerate(sessions, start=1)
            for turn, said in enumerate(turns, start=1)
            if concept.name in bracketed_names(said.text) or holds(said.text, concept.name)
        )
        first = next(introduced, None)
        if first is None:
            return
        places.append(first)
    yield Remembered("name", f"What is {THE_ONE} called?", concept.name, tuple(places))


def by_date(showings: Sequence[Showing]) -> Iterator[Remembered]:
    """When a photo of it was first and last shared; of photos on one day alone, when that was."""
    places = tuple(showing.place for showing in showings)
    days = sorted({showing.day for showing in showings})
    for form, day in zip(("first", "last"), dict.fromkeys((days[0], days[-1])) if days else (), strict=False):
        told = next(showing.place for showing in showings if showing.day == day)
        text = f"On which day was a picture of {THE_ONE} {form} shared?"
        if len(days) == 1:
            text = f"On which day was a picture of {THE_ONE} shared?"
        yield Remembered(form, text, written(day), places, accepted_forms(day), Derivation(DatedEvent(told)))


def drawn_from_set(
    concept: PersonalConcept,
    showings: Sequence[Showing],
    request: GroupRequest,
    sessions: Sessions,
    drawn: random.Random,
    *,
    right_first: bool,
) -> list[GeneratedQuestion]:
    """One of the concept set's own questions about a photo that its day alone tells from the others, if there is one."""
    possible = []
    for question in concept.questions:
        places = tuple(showing.place for showing in showings if showing.photo == question.photo)
        day = next((showing.day for showing in showings if showing.photo == question.photo), None)
        if day is None or {showing.photo for showing in showings if showing.day == day} != {question.photo}:
            continue
        text = about_shown_photo(question, concept.name, day, drawn, right_first=right_first)
        if text is not None:
            possible.append(GeneratedQuestion(VISUAL_RETRIEVAL, text, question.answer, places))
    possible = asked_by_the_rules(possible, request, sessions)
    return [drawn.choice(possible)] if possible else []
