"""Questions out of the facts of a script. Each knows its evidence, for each fact knows the line that told or showed it."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import partial

from data_synthesis.accepted import says_too_little
from data_synthesis.check_group import keeps_the_rules
from data_synthesis.classes import TABLE, ClassFact, class_facts
from data_synthesis.dates import accepted_days, accepted_forms, resolve, written, written_days
from data_synthesis.grammar.concept_looks import asked_of
from data_synthesis.grammar.facts import Happened
from data_synthesis.grammar.script import Script
from data_synthesis.grammar.visual_facts import by_looks, multi_hop, photo_places, pictures, single_hop
from data_synthesis.grammar.visual_retrieval import PER_CONCEPT, PER_CONCEPT_ALONE, told_of
from data_synthesis.group import (
    LEAST_DELIVERED,
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    TurnPlace,
)
from data_synthesis.group_view import GroupView
from data_synthesis.retrieval_questions import Sessions, retrieval_questions
from data_synthesis.wording import answer_given_away, words_of

COUNTS = {6: 4, 7: 6, 8: 2, 9: 8}
MULTI_HOP, TEMPORAL, OPEN_DOMAIN, SINGLE_HOP = COUNTS


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that could be asked. `form` and `about` keep those that are chosen from being all alike."""

    form: str
    about: str
    question: GeneratedQuestion


def questions_of(script: Script, sessions: Sessions, *, retrieval_only: bool = False) -> tuple[GeneratedQuestion, ...]:
    """4 multi-hop, 6 temporal, 2 open-domain, 8 single-hop, and visual retrieval, or nothing but that.

    None breaks a rule of the group whose `sessions` are the script's turns. Where too little is known for so many, half
    of them; fewer of a category where there are not enough.
    """
    drawn = random.Random(f"{script.plan.request.seed} {script.plan.request.group.number} questions")
    request, chosen = script.plan.request, list[GeneratedQuestion]()
    if retrieval_only:
        return tuple(retrieval_questions(request, sessions, partial(told_of, script), per_concept=PER_CONCEPT_ALONE))
    keeps = keeps_the_rules(GroupView(GeneratedGroup(tuple(map(tuple, sessions)), ()), request))
    for category, candidates in (
        (MULTI_HOP, _candidates(MULTI_HOP, multi_hop(script, drawn))),
        (TEMPORAL, _temporal(script)),
        (OPEN_DOMAIN, _open_domain(script)),
        (SINGLE_HOP, _candidates(SINGLE_HOP, single_hop(script, drawn))),
    ):
        usable = [one for one in map(_clean, candidates) if one is not None]
        usable = [one for one in usable if keeps(one.question)]
        chosen += _choose(usable, COUNTS[category], chosen, drawn)
    if len(chosen) < LEAST_DELIVERED * sum(COUNTS.values()):
        found = {category: [one for one in chosen if one.category == category] for category in COUNTS}
        chosen = [one for category, own in found.items() for one in own[: asked_for(chosen)[category]]]
    answered = {question.answer for question in chosen}
    asked = retrieval_questions(request, sessions, partial(told_of, script), answered=answered, per_concept=PER_CONCEPT)
    return (*chosen, *asked)


def asked_for(questions: Sequence[GeneratedQuestion]) -> dict[int, int]:
    """How many questions of each category are to be had where these were found: COUNTS, or half of that."""
    found = sum(question.category in COUNTS for question in questions)
    whole = found >= LEAST_DELIVERED * sum(COUNTS.values())
    return COUNTS if whole else {category: count // 2 for category, count in COUNTS.items()}


def _candidates(
    category: int, found: Iterable[tuple[str, str, str, str, Sequence[TurnPlace], Sequence[str]]]
) -> Iterator[Candidate]:
    for form, about, text, answer, evidence, accepted in found:
        places = tuple(sorted(set(evidence)))
        yield Candidate(form, about, GeneratedQuestion(category, text, answer, places, tuple(accepted)))


def _choose(
    usable: list[Candidate], count: int, before: Sequence[GeneratedQuestion], drawn: random.Random
) -> list[GeneratedQuestion]:
    """Of the rarest form and concept first, in a drawn order."""
    drawn.shuffle(usable)
    asked = {tuple(words_of(question.text)) for question in before}
    said = list(before)
    answers = Counter(question.answer for question in before)
    forms: Counter[str] = Counter()
    about: Counter[str] = Counter()
    chosen: list[GeneratedQuestion] = []
    while len(chosen) < count and usable:
        usable = [one for one in usable if tuple(words_of(one.question.text)) not in asked and not _again(one, chosen)]
        apart = [one for one in usable if not any(_tells(one.question, other) for other in said)]
        if not usable:
            break
        best = min(
            apart or usable,
            key=lambda one: (
                one.form.count("?"),
                forms[one.form] + about[one.about] + 2 * answers[one.question.answer],
            ),
        )
        chosen.append(best.question)
        said.append(best.question)
        asked.add(tuple(words_of(best.question.text)))
        answers[best.question.answer] += 1
        forms[best.form] += 1
        about[best.about] += 1
    return chosen


def _again(candidate: Candidate, chosen: Sequence[GeneratedQuestion]) -> bool:
    """Whether the same was asked in other words already."""
    question = candidate.question
    return any((one.answer, one.evidence) == (question.answer, question.evidence) for one in chosen)


def _tells(one: GeneratedQuestion, other: GeneratedQuestion) -> bool:
    """Whether the words of one question hold the answer to the other, or both ask for the same answer."""
    if one.answer == other.answer and {one.category, other.category} <= {MULTI_HOP, SINGLE_HOP}:
        return True
    pairs = ((one.text, other), (other.text, one))
    return any(
        asked.category in (MULTI_HOP, SINGLE_HOP)
        and answer_given_away(text, (asked.answer, *(form for form in asked.accepted if len(form) > 3)))
        for text, asked in pairs
    )


def _clean(candidate: Candidate) -> Candidate | None:
    question = candidate.question
    if not words_of(question.answer) or answer_given_away(question.text, (question.answer,)):
        return None
    accepted = tuple(
        dict.fromkeys(
            one
            for one in question.accepted
            if one != question.answer
            and not says_too_little(one, question.text)
            and not answer_given_away(question.text, (one,))
        )
    )
    return replace(candidate, question=replace(question, accepted=accepted))


# Temporal


def _temporal(script: Script) -> Iterator[Candidate]:
    speakers = script.plan.request.speakers
    told_apart = list(pictures(script))
    for picture in told_apart:
        shown = picture.shown
        owner, name, place = speakers[shown.member.owner], shown.member.name, shown.line.at
        text = f"When did {owner} share {picture.phrase}?"
        if picture.which:
            text = f"When did {owner} {picture.which}share a picture of {picture.words}?"
            found = _dated("shared, by looks", name, text, place, shown.day)
            yield replace(found, question=replace(found.question, evidence=picture.places))
            continue
        yield _dated("shared", name, text, place, shown.day)
        if shown.expression:
            verb = f"did {owner} come across" if shown.found else "was"
            text = f"When {verb} {picture.phrase}{'' if shown.found else ' taken'}?"
            day = resolve(shown.expression, shown.day)
            yield _dated("taken", name, text, place, day, shown.expression)
    for event in script.facts.happened:
        yield from _events(script, event)
    quoted = [(picture.shown, picture) for picture in told_apart if not picture.which]
    for (one, first), (two, second) in ((a, b) for a in quoted for b in quoted if a[0].day < b[0].day):
        days = (two.day - one.day).days
        text = (
            f"How many days passed from the day {speakers[one.member.owner]} shared {first.phrase} "
            f"to the day {speakers[two.member.owner]} shared {second.phrase}?"
        )
        derivation = Derivation(DatedEvent(two.line.at), since=DatedEvent(one.line.at))
        yield Candidate(
            "days", two.member.name,
            GeneratedQuestion(
                TEMPORAL, text, written_days(days), (one.line.at, two.line.at), accepted_days(days), derivation=derivation
            ),
        )  # fmt: skip


def _events(script: Script, event: Happened) -> Iterator[Candidate]:
    """An event of a concept that is named by its looks alone."""
    owner = script.plan.request.speakers[event.member.owner]
    day = resolve(event.expression, script.plan.dates[event.line.at.session - 1])
    form = "corrected" if event.earlier else "event"
    for look in by_looks(script, event.member):
        text = asked_of(event.ask, look).format(owner=owner, it="it", its="its")
        found = _dated(form, event.member.name, text, event.line.at, day, event.expression)
        places = {*photo_places(script, event.member), *(line.at for line in event.earlier), event.line.at}
        evidence = tuple(sorted(places))
        yield replace(found, question=replace(found.question, evidence=evidence))


def _dated(form: str, about: str, text: str, place: TurnPlace, day: date, expression: str = "") -> Candidate:
    derivation = Derivation(DatedEvent(place, expression))
    question = GeneratedQuestion(TEMPORAL, text, written(day), (place,), accepted_forms(day), derivation=derivation)
    return Candidate(form, about, question)


# Open domain


def _open_domain(script: Script) -> Iterator[Candidate]:
    for member in script.plan.members:
        shown = [one.line.at for one in script.facts.shown if one.member is member]
        facts: list[ClassFact] = class_facts(member.concept) if member.hidden else []
        for fact in facts:
            question = GeneratedQuestion(
                OPEN_DOMAIN, fact.ask.replace("{N}", member.name), fact.answer, tuple(shown), fact.accepted
            )
            yield Candidate(" ".join(fact.ask.split()[:4]), member.name, question)
    calendar = TABLE["calendar"]
    for picture in pictures(script):
        for form, entry in calendar.items():
            answers = _calendar_answers(form, entry, picture.shown.day)
            if answers:
                member = picture.shown.member
                owner = script.plan.request.speakers[member.owner]
                text = entry["ask"].format(owner=owner, photo=picture.phrase)
                question = GeneratedQuestion(OPEN_DOMAIN, text, answers[0], picture.places, tuple(answers[1:]))
                yield Candidate(f"{form}?", member.name, question)


def _calendar_answers(form: str, entry: dict[str, list[list[str]]], day: date) -> list[str]:
    """What is said of a day; nothing where tables differ, next to where a sign of the zodiac begins."""
    if form != "zodiac":
        return entry["months"][day.month - 1]
    begins = sorted((tuple(map(int, start.split("-"))), sign) for sign, start in entry["begins"])
    distance = min(abs((day - date(day.year, *start)).days) for start, _ in begins)
    if distance < 3:
        return []
    before = [sign for start, sign in begins if start <= (day.month, day.day)]
    return [before[-1] if before else begins[-1][1]]
