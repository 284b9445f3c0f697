"""Questions of category 10, visual retrieval: a system that sees but remembers nothing cannot answer them.

One kind comes with a photo that the dialogue never shows and does not name its concept: the concept must be recognised,
and the answer is only in the words and dates of the dialogue. The other kind is the concept set's own question about a
photo that was shown; it comes without the photo.
"""

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from data_synthesis.check_group import rule_check
from data_synthesis.dates import accepted_forms, date_text
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
from data_synthesis.group_view import GroupView
from data_synthesis.visual_questions import about_shown_photo

THE_ONE = "the one in this photo"
Sessions = Sequence[Sequence[GeneratedTurn]]


@dataclass(frozen=True, slots=True)
class Remembered:
    """Something that the dialogue says about a concept. `text` is a question about THE_ONE; `form` is its kind."""

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
    further: Callable[[PersonalConcept], Iterable[Remembered]] = lambda concept: (),
    *,
    answered: Collection[str] = (),
    per_concept: int = 1,
) -> list[GeneratedQuestion]:
    """Returns up to `per_concept` questions for each concept with an unseen photo, and one of its set's own if there is any.

    They ask for its name, for dates, and for `further` things said about it. Rare forms come first, then answers that are not
    among those already `answered`. No question breaks a rule; all choices follow from the group's seed.
    """
    rng = random.Random(f"{request.seed} visual retrieval")
    view = GroupView(GeneratedGroup(tuple(map(tuple, sessions)), ()), request)
    keeps = rule_check(view)
    questions: list[GeneratedQuestion] = []
    forms: Counter[str] = Counter()
    right_first = rng.random() < 0.5
    for concept in request.group.concepts:
        from_set = list(filter(keeps, of_the_set(concept, view, rng, right_first=right_first)))
        right_first ^= bool(from_set)  # alternates, so that always choosing the same option does not pay
        questions += [rng.choice(from_set)] if from_set else []
        unseen = rng.sample(concept.unseen, len(concept.unseen))
        candidates = [*further(concept), *by_name(concept, view), *by_date(concept, view)] if unseen else []
        rng.shuffle(candidates)
        count = 0
        while candidates and count < per_concept:
            best = min(candidates, key=lambda candidate: (forms[candidate.form], candidate.answer in answered))
            candidates.remove(best)
            question = best.asked_with(unseen[count % len(unseen)].path)
            if keeps(question):
                candidates = [other for other in candidates if other.form != best.form and other.answer != best.answer]
                forms[best.form] += 1
                count += 1
                questions.append(question)
    return questions


def by_name(concept: PersonalConcept, view: GroupView) -> Iterator[Remembered]:
    """Yields the question for its name."""
    places = [turn.place for turn in view.turns_showing(concept)]
    named = [place for place, turn in view.turns.items() if concept in turn.named]
    if places and named and concept.class_name:
        places += named[:1] if not set(named) & set(places) else []
        yield Remembered("name", f"What is {THE_ONE} called?", concept.name, tuple(places))


def by_date(concept: PersonalConcept, view: GroupView) -> Iterator[Remembered]:
    """Yields the days on which a photo of it was first and last shared, or the one day on which all were."""
    turns = view.turns_showing(concept)
    days = {turn.day: turn.place for turn in reversed(turns) if turn.day}
    for form, day in zip(("first", "last"), dict.fromkeys((min(days), max(days))) if days else (), strict=False):
        text = f"On which day was a picture of {THE_ONE} {form if len(days) > 1 else ''} shared?".replace("  ", " ")
        derivation = Derivation(DatedEvent(days[day]))
        places = tuple(turn.place for turn in turns)
        yield Remembered(form, text, date_text(day), places, accepted_forms(day), derivation)


def of_the_set(
    concept: PersonalConcept, view: GroupView, rng: random.Random, *, right_first: bool
) -> Iterator[GeneratedQuestion]:
    """Yields the concept set's own questions about photos that no other photo of the concept shares its day with."""
    for question in concept.questions:
        showing = view.shown.get(question.photo, [])
        other_turns = [turn for turn in view.turns_showing(concept) if turn not in showing]
        day = showing[0].day if showing else None
        if day is None or any(turn.day == day for turn in other_turns):
            continue
        text = about_shown_photo(question, concept.name, day, rng, right_first=right_first)
        if text is not None:
            yield GeneratedQuestion(VISUAL_RETRIEVAL, text, question.answer, tuple(turn.place for turn in showing))
