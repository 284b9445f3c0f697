"""Questions about the facts of a script. Their evidence is known, because each fact knows the line that tells or shows it."""

import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from itertools import product

from data_synthesis.accepted import says_too_little
from data_synthesis.check_group import rule_check
from data_synthesis.classes import ClassFact, class_facts
from data_synthesis.dates import WEEKDAYS, accepted_days, accepted_forms, date_text, days_text, resolve
from data_synthesis.grammar.facts import Event
from data_synthesis.grammar.script import Script
from data_synthesis.grammar.visual_facts import (
    Candidate,
    Picture,
    multi_hop,
    photo_places,
    pictures,
    single_hop,
)
from data_synthesis.grammar.visual_retrieval import PER_CONCEPT, PER_CONCEPT_ALONE, remembered_of
from data_synthesis.group import (
    LEAST_DELIVERED,
    MULTI_HOP,
    OPEN_DOMAIN,
    QUESTION_COUNTS,
    SINGLE_HOP,
    TEMPORAL,
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    TurnPlace,
)
from data_synthesis.group_view import GroupView
from data_synthesis.retrieval_questions import Sessions, retrieval_questions
from data_synthesis.wording import answer_given_away, contains_phrase, is_suggested, words_of


def questions_of(script: Script, sessions: Sessions, *, retrieval_only: bool = False) -> tuple[GeneratedQuestion, ...]:
    """Returns 4 multi-hop, 6 temporal, 2 open-domain, 8 single-hop, and visual retrieval questions, or only the last.

    No question breaks a rule; `sessions` are the script's turns. If too little is known for so many, there are half as
    many; a category may have fewer.
    """
    request, chosen = script.plan.request, list[GeneratedQuestion]()
    rng = random.Random(f"{request.seed} {request.group.number} questions")
    remembered = partial(remembered_of, script)
    if retrieval_only:
        return tuple(retrieval_questions(request, sessions, remembered, per_concept=PER_CONCEPT_ALONE))
    keeps = rule_check(GroupView(GeneratedGroup(tuple(map(tuple, sessions)), ()), request))
    for category, candidates in (
        (MULTI_HOP, multi_hop(script, rng)),
        (TEMPORAL, _temporal(script)),
        (OPEN_DOMAIN, _open_domain(script)),
        (SINGLE_HOP, single_hop(script, rng)),
    ):
        usable = [
            candidate for candidate in map(_clean, candidates) if candidate is not None and keeps(candidate.question)
        ]
        chosen += _choose(usable, QUESTION_COUNTS[category], chosen, rng)
    counts = counts_to_keep(chosen)
    if counts is not QUESTION_COUNTS:
        by_category = [[question for question in chosen if question.category == category] for category in counts]
        chosen = [
            question
            for questions, count in zip(by_category, counts.values(), strict=True)
            for question in questions[:count]
        ]
    answered = {question.answer for question in chosen}
    further = retrieval_questions(request, sessions, remembered, answered=answered, per_concept=PER_CONCEPT)
    return (*chosen, *further)


def counts_to_keep(questions: Sequence[GeneratedQuestion]) -> dict[int, int]:
    """Returns the number of questions of each category to keep of these: QUESTION_COUNTS, or half of that."""
    count = sum(question.category in QUESTION_COUNTS for question in questions)
    enough = count >= LEAST_DELIVERED * sum(QUESTION_COUNTS.values())
    return QUESTION_COUNTS if enough else {category: count // 2 for category, count in QUESTION_COUNTS.items()}


def _choose(
    usable: list[Candidate], count: int, before: Sequence[GeneratedQuestion], rng: random.Random
) -> list[GeneratedQuestion]:
    """Returns up to `count` candidates, rare forms and concepts first, otherwise in a drawn order."""
    rng.shuffle(usable)
    answers = Counter(question.answer for question in before)
    forms: Counter[str] = Counter()
    about: Counter[str] = Counter()
    chosen: list[GeneratedQuestion] = []

    def cost(candidate: Candidate) -> tuple[int, int]:
        repeated = forms[candidate.form] + about[candidate.about] + 2 * answers[candidate.question.answer]
        return candidate.form.count("?"), repeated

    def is_new(question: GeneratedQuestion) -> bool:
        earlier_texts = (words_of(other.text) for other in (*before, *chosen))
        same = any((other.answer, other.evidence) == (question.answer, question.evidence) for other in chosen)
        return not same and words_of(question.text) not in earlier_texts

    while len(chosen) < count:
        usable = [candidate for candidate in usable if is_new(candidate.question)]
        if not usable:
            break
        others = [*before, *chosen]
        apart = [
            candidate for candidate in usable if not any(_give_away(candidate.question, other) for other in others)
        ]
        best = min(apart or usable, key=cost)
        chosen.append(best.question)
        answers[best.question.answer] += 1
        forms[best.form] += 1
        about[best.about] += 1
    return chosen


def _give_away(first: GeneratedQuestion, second: GeneratedQuestion) -> bool:
    """Returns whether the text of one question contains the answer to the other, or both have the same answer."""
    if first.answer == second.answer and {first.category, second.category} <= {MULTI_HOP, SINGLE_HOP}:
        return True
    return any(
        question.category in (MULTI_HOP, SINGLE_HOP)
        and answer_given_away(text, (question.answer, *(form for form in question.accepted if len(form) > 3)))
        for text, question in ((first.text, second), (second.text, first))
    )


def _clean(candidate: Candidate) -> Candidate | None:
    """Returns the candidate without poor accepted answers, or None if its answer is empty or given away."""
    question = candidate.question
    if not words_of(question.answer) or answer_given_away(question.text, (question.answer,)):
        return None
    if any(
        is_suggested(question.text, form) and not contains_phrase(question.text, form) for form in question.accepted
    ):
        return None
    accepted = tuple(
        dict.fromkeys(
            form
            for form in question.accepted
            if form != question.answer
            and not says_too_little(form, question.text)
            and not answer_given_away(question.text, (form,))
        )
    )
    return replace(candidate, question=replace(question, accepted=accepted))


# Temporal


def _temporal(script: Script) -> Iterator[Candidate]:
    speakers = script.plan.request.speakers
    all_pictures = list(pictures(script))
    for picture in all_pictures:
        shown = picture.shown
        owner, name, place = speakers[shown.member.owner], shown.member.name, shown.line.at
        if picture.which:
            text = f"When did {owner} {picture.which}share a picture of {picture.words}?"
            yield _dated(
                f"shared, by looks{picture.fallback}", name, text, shown.day, DatedEvent(place), picture.places
            )
            continue
        yield _dated("shared", name, f"When did {owner} share {picture.phrase}?", shown.day, DatedEvent(place))
        if shown.expression:
            verb = f"did {owner} come across" if shown.found else "was"
            text = f"When {verb} {picture.phrase}{'' if shown.found else ' taken'}?"
            day = resolve(shown.expression, shown.day)
            yield _dated("taken", name, text, day, DatedEvent(place, shown.expression))
    for event in script.facts.events:
        for picture in all_pictures:
            yield from _from_event(script, event, picture)
    for first, second in product(all_pictures, repeat=2):
        start, end = first.shown, second.shown
        days, owner = (end.day - start.day).days, speakers[start.member.owner]
        if days <= 0:
            continue
        text = (
            f"How many days lie between the first and the last picture of {first.words} that {owner} shared?"
            if first.words == second.words
            else f"How many days passed from {first.day_shared(owner)} to {second.day_shared(speakers[end.member.owner])}?"
        )
        derivation = Derivation(DatedEvent(end.line.at), since=DatedEvent(start.line.at))
        answers = (days_text(days), tuple(sorted({*first.places, *second.places})), accepted_days(days))
        question = GeneratedQuestion(TEMPORAL, text, *answers, derivation=derivation)
        yield Candidate(f"days{first.fallback or second.fallback}", end.member.name, question)


def _from_event(script: Script, event: Event, picture: Picture) -> Iterator[Candidate]:
    """How many days lie between an event, as it was dated last, and the day on which a picture was shared."""
    speakers, shown = script.plan.request.speakers, picture.shown
    owner, happened = speakers[event.member.owner], DatedEvent(event.line.at, event.expression)
    noun = re.sub(r"\bI\b", owner, re.sub(r"\bmy\b", f"{owner}'s", event.noun)).replace("{N}", event.member.name)
    shared = picture.day_shared(speakers[shown.member.owner])
    days = (shown.day - resolve(event.expression, script.plan.dates[event.line.at.session - 1])).days
    since, then = (happened, DatedEvent(shown.line.at))[:: 1 if days > 0 else -1]
    if days and any(contains_phrase(line.text, event.member.name) for line in (event.line, *event.earlier)):
        evidence = tuple(sorted({*(line.at for line in event.earlier), event.line.at, *picture.places}))
        text = (
            f"How many days passed from {noun} to {shared}?"
            if days > 0
            else f"How many days passed from {shared} to {noun}?"
        )
        answers = (days_text(abs(days)), evidence, accepted_days(abs(days)))
        question = GeneratedQuestion(TEMPORAL, text, *answers, derivation=Derivation(then, since=since))
        yield Candidate(f"{'corrected' if event.earlier else 'event'}{picture.fallback}", event.member.name, question)


def _dated(
    form: str, about: str, text: str, day: date, event: DatedEvent, evidence: tuple[TurnPlace, ...] = ()
) -> Candidate:
    answers = (date_text(day), evidence or (event.place,), accepted_forms(day))
    return Candidate(form, about, GeneratedQuestion(TEMPORAL, text, *answers, derivation=Derivation(event)))


# Open domain


def _open_domain(script: Script) -> Iterator[Candidate]:
    for member in script.plan.members:
        facts: list[ClassFact] = class_facts(member.concept) if member.hidden else []
        for fact in facts:
            question = GeneratedQuestion(
                OPEN_DOMAIN,
                fact.ask.replace("{N}", member.name),
                fact.answer,
                tuple(photo_places(script, member)),
                fact.accepted,
            )
            yield Candidate(" ".join(fact.ask.split()[:4]), member.name, question)
    for picture in pictures(script):
        shown = picture.shown
        owner = script.plan.request.speakers[shown.member.owner]
        photo = f"a picture of {picture.words}" if picture.which else picture.phrase
        text = f"On which day of the week did {owner} {picture.which}share {photo}?"
        question = GeneratedQuestion(OPEN_DOMAIN, text, WEEKDAYS[shown.day.weekday()], picture.places)
        yield Candidate(f"weekday?{picture.fallback}", shown.member.name, question)
