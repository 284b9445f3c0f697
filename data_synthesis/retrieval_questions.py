"""Questions of category 10, visual retrieval: who sees, but remembers nothing, cannot answer them.

One kind comes with a photo of a concept that the dialogue never shows, and does not name the concept: it must be
recognised, and what is asked stands in the words and dates of the dialogue alone. The other kind is a concept set's own
question about a photo that was shown; it comes without the photo.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
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
from data_synthesis.seen import Sight
from data_synthesis.visual_questions import about_shown_photo
from data_synthesis.wording import holds, words_of

THE_ONE = "the one in this photo"
Sessions = Sequence[Sequence[GeneratedTurn]]


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
        evidence = tuple(sorted(set(self.evidence)))
        return GeneratedQuestion(
            *(VISUAL_RETRIEVAL, self.text, self.answer, evidence, self.accepted, (photo,), self.derivation)
        )


def retrieval_questions(
    request: GroupRequest,
    sessions: Sessions,
    told: Callable[[PersonalConcept], Iterable[Remembered]] = lambda concept: (),
    *,
    answered: Collection[str] = (),
    per_concept: int = 1,
) -> list[GeneratedQuestion]:
    """Up to so many for each concept with a photo that is left unseen, besides one of its concept set if there is any.

    What is asked is its name, its days and what else is `told` of it, kind by kind in turns, and rather not what was
    `answered`. None breaks a rule; everything is drawn by the group's seed.
    """
    drawn = random.Random(f"{request.seed} visual retrieval")
    sight = Sight(GeneratedGroup(tuple(map(tuple, sessions)), ()), request)
    keeps = keeps_the_rules(sight)
    questions: list[GeneratedQuestion] = []
    forms: Counter[str] = Counter()
    right_first = drawn.random() < 0.5
    for concept in request.group.concepts:
        from_set = list(filter(keeps, of_the_set(concept, sight, drawn, right_first=right_first)))
        right_first ^= bool(from_set)  # by turns, so that nobody who always takes the same of two options does well
        questions += [drawn.choice(from_set)] if from_set else []
        unseen = drawn.sample(concept.unseen, len(concept.unseen))
        known = [*told(concept), *by_name(concept, sight), *by_date(concept, sight)] if unseen else []
        drawn.shuffle(known)
        count = 0
        while known and count < per_concept:
            best = min(known, key=lambda one: (forms[one.form], one.answer in answered))
            known.remove(best)
            asked = best.asked_with(unseen[count % len(unseen)].path)
            if keeps(asked):
                known = [one for one in known if one.form != best.form and one.answer != best.answer]
                forms[best.form] += 1
                count += 1
                questions.append(asked)
    return questions


def by_name(concept: PersonalConcept, sight: Sight) -> Iterator[Remembered]:
    """What it is called, unless the name may be read from what it looks like, as that of the "Blue Tea Pot"."""
    looks = {word.rstrip("0123456789") for word in words_of(f"{concept.class_name} {concept.short_description}")}
    places = sight.showing(concept)
    named = [place for place, turn in sight.turns.items() if holds(turn.text, concept.name)]
    alike = looks & {word.rstrip("0123456789") for word in words_of(concept.name)}
    if places and named and concept.class_name and not alike:
        places += named[:1] if not set(named) & set(places) else []
        yield Remembered("name", f"What is {THE_ONE} called?", concept.name, tuple(places))


def by_date(concept: PersonalConcept, sight: Sight) -> Iterator[Remembered]:
    """When a photo of it was first and last shared; of photos on one day alone, when that was."""
    places = sight.showing(concept)
    days = {day: place for place in reversed(places) if (day := sight.day(place))}
    for form, day in zip(("first", "last"), dict.fromkeys((min(days), max(days))) if days else (), strict=False):
        text = f"On which day was a picture of {THE_ONE} {form if len(days) > 1 else ''} shared?".replace("  ", " ")
        derivation = Derivation(DatedEvent(days[day]))
        yield Remembered(form, text, written(day), tuple(places), accepted_forms(day), derivation)


def of_the_set(
    concept: PersonalConcept, sight: Sight, drawn: random.Random, *, right_first: bool
) -> Iterator[GeneratedQuestion]:
    """The concept set's own questions about photos that their day alone tells from the others."""
    days = {place: sight.day(place) for place in sight.showing(concept)}
    for question in concept.questions:
        places = tuple(sight.shown.get(question.photo, ()))
        day = days[places[0]] if places else None
        if day is None or any(days[place] == day for place in days.keys() - set(places)):
            continue
        text = about_shown_photo(question, concept.name, day, drawn, right_first=right_first)
        if text is not None:
            yield GeneratedQuestion(VISUAL_RETRIEVAL, text, question.answer, places)
