"""Questions of category 10 out of the facts of a script: what was told of the one in a photo that nobody has shown."""

import random
from collections import Counter
from collections.abc import Collection, Iterator

from data_synthesis.grammar.plan import Member
from data_synthesis.grammar.script import Script
from data_synthesis.group import GeneratedQuestion, TurnPlace
from data_synthesis.retrieval_questions import (
    THE_ONE,
    Remembered,
    Sessions,
    Showing,
    asked_by_the_rules,
    by_date,
    by_name,
    drawn_from_set,
    showings_of,
)

PER_CONCEPT = 2
PER_CONCEPT_ALONE = 4  # where nothing else is asked


def retrieval_questions(
    script: Script,
    sessions: Sessions,
    drawn: random.Random,
    answered: Collection[str],
    *,
    per_concept: int = PER_CONCEPT,
) -> list[GeneratedQuestion]:
    """Up to so many for each concept, one from its concept set if there is any, and rather not what was `answered`.

    The kinds of things asked take turns. A concept without an unseen photo is asked nothing that needs one.
    """
    questions: list[GeneratedQuestion] = []
    forms: Counter[str] = Counter()
    right_first = drawn.random() < 0.5
    for member in script.plan.members:
        showings = showings_of(member.concept, script.plan.request, sessions)
        chosen = drawn_from_set(member.concept, showings, script.plan.request, sessions, drawn, right_first=right_first)
        right_first ^= bool(chosen)  # by turns, so that nobody who always takes the same of two options does well
        unseen = drawn.sample(member.concept.unseen, len(member.concept.unseen))
        told = [*_told(script, member, showings), *by_name(member.concept, showings, sessions), *by_date(showings)]
        drawn.shuffle(told)
        while told and unseen and len(chosen) < per_concept:
            best = min(told, key=lambda one: (forms[one.form], one.answer in answered))
            asked = best.asked_with(unseen[len(chosen) % len(unseen)].path)
            if not asked_by_the_rules([asked], script.plan.request, sessions):
                told.remove(best)
                continue
            told = [one for one in told if one.form != best.form and one.answer != best.answer]
            forms[best.form] += 1
            chosen.append(asked)
        questions += chosen
    return questions


def _told(script: Script, member: Member, showings: list[Showing]) -> Iterator[Remembered]:
    """Asked so that the words fit every concept of the same owner: only the photo tells which one is meant."""
    owner = script.plan.request.speakers[member.owner]
    shown = [showing.place for showing in showings]

    def places(told: list[TurnPlace]) -> tuple[TurnPlace, ...]:
        return (*shown, *told)

    for told in script.facts.told:
        if told.member is not member:
            continue
        lines = places([line.at for line in told.lines])
        if told.kind == "origin":
            text = f"Whom does {owner} have to thank for {THE_ONE}?"
            yield Remembered("origin", text, told.answer, lines, told.accepted)
        elif told.kind == "job":
            text = f"What is the profession of the person to whom {owner} owes {THE_ONE}?"
            yield Remembered("job", text, told.answer, lines, told.accepted)
    nickname = script.facts.nicknamed.get(member.name)
    if nickname is not None:
        text = f"By what nickname is {THE_ONE} known?"
        yield Remembered("nickname", text, member.nickname, places([line.at for line in nickname]))
