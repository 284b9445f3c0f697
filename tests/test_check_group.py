"""Every rule for one generated group: a good one is clean, each planted fault is reported in a sentence."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from data_synthesis.check_group import faults_of
from data_synthesis.group import DatedEvent, Derivation, GeneratedGroup, TurnPlace
from tests.good_group import GOOD, PHOTOS, REQUEST, place


def with_turn(where: str, **changes: Any) -> GeneratedGroup:
    session, turn = (int(number) - 1 for number in where.split(":"))
    turns = list(GOOD.sessions[session])
    turns[turn] = replace(turns[turn], **changes)
    return replace(GOOD, sessions=(*GOOD.sessions[:session], tuple(turns), *GOOD.sessions[session + 1 :]))


def with_question(number: int, **changes: Any) -> GeneratedGroup:
    questions = list(GOOD.questions)
    questions[number - 1] = replace(questions[number - 1], **changes)
    return replace(GOOD, questions=tuple(questions))


def derived(event: str, words: str, **since: str) -> Derivation:
    counted = [DatedEvent(place(turn.strip("t").replace("_", ":")), date) for turn, date in since.items()]
    return Derivation(DatedEvent(place(event), words), *counted)


FAULTS: dict[str, tuple[Callable[[], GeneratedGroup], str]] = {
    "a session is missing": (
        lambda: replace(GOOD, sessions=GOOD.sessions[:4]),
        "There are 4 sessions; write exactly 5",
    ),
    "a session too many": (
        lambda: replace(GOOD, sessions=(*GOOD.sessions, GOOD.sessions[4])),
        "There are 6 sessions; write exactly 5",
    ),
    "nothing at all": (lambda: GeneratedGroup((), ()), "There are 0 sessions"),
    "an empty session": (lambda: replace(GOOD, sessions=((), *GOOD.sessions[1:])), "Session 1: it has 0 turns"),
    "too few turns": (
        lambda: replace(GOOD, sessions=(*GOOD.sessions[:4], GOOD.sessions[4][:4])),
        "Session 5: it has 4 turns",
    ),
    "too many turns": (
        lambda: replace(GOOD, sessions=(*GOOD.sessions[:4], GOOD.sessions[4] * 4)),
        "Session 5: it has 20 turns; a session has 5 to 15",
    ),
    "a third speaker": (lambda: with_turn("2:1", speaker="Zoe"), "the speaker is 'Zoe'; the speakers are Ann and Ben"),
    "one speaker is silent": (
        lambda: replace(
            GOOD, sessions=(tuple(replace(turn, speaker="Ann") for turn in GOOD.sessions[0]), *GOOD.sessions[1:])
        ),
        "Session 1, turn 2: Ann speaks twice in a row",
    ),
    "an empty turn": (lambda: with_turn("2:1", text=" … "), "Session 2, turn 1: the text is empty"),
    "a concept is not introduced": (
        lambda: with_turn("1:1", text="Meet <Rosso> and <Mochi>."),
        "missing: <Doctor Marmalade>",
    ),
    "an unknown name": (lambda: with_turn("2:1", text="And <Bello>?"), "<Bello> is no concept of this group"),
    "a placeholder": (lambda: with_turn("2:1", text="How is <sks>?"), "'<sks>' is a placeholder"),
    "a placeholder in square brackets": (
        lambda: with_turn("2:1", text="I gave it to [NAME] at noon."),
        "'[NAME]' is a placeholder",
    ),
    "a placeholder in a question": (
        lambda: with_question(7, text="What is under {name}?"),
        "'{name}' is a placeholder",
    ),
    "a photo is not shown": (
        lambda: with_turn("5:1", photos=()),
        "The photo 1.jpg of Doctor Marmalade is shown in no turn",
    ),
    "a photo that was not chosen": (
        lambda: with_turn("5:2", photos=(Path("x.jpg"),)),
        "Session 5, turn 2: it shows x.jpg, which was not chosen",
    ),
    "a photo twice in a turn": (lambda: with_turn("5:1", photos=(PHOTOS[2][1],) * 2), "shows the same photo twice"),
    "a sentence twice": (
        lambda: with_turn("5:2", text="Next time I shall carry it for you!"),
        "was said before (session 4, turn 5)",
    ),
    "the ratio": (lambda: replace(GOOD, questions=GOOD.questions[1:]), "must be 2:3:1:4"),
    "the ratio of as many questions": (lambda: with_question(9, category=6), "must be 2:3:1:4"),
    "no questions": (lambda: replace(GOOD, questions=()), "must be 2:3:1:4"),
    "an unknown category": (lambda: with_question(13, category=5), "has category 5"),
    "an empty question": (lambda: with_question(7, text="?"), "has no text"),
    "a question twice": (lambda: with_question(8, text=GOOD.questions[6].text), "was asked before, as question 7"),
    "no answer": (lambda: with_question(7, answer=""), "the answer is empty"),
    "an empty accepted answer": (lambda: with_question(7, accepted=("",)), "an accepted answer is empty"),
    "the answer in the question": (
        lambda: with_question(7, answer="the blanket"),
        "the question contains the answer 'the blanket'",
    ),
    "an accepted answer there": (
        lambda: with_question(7, accepted=("blanket",)),
        "the question contains the answer 'blanket'",
    ),
    "a word that begins with the answer": (
        lambda: with_question(7, text="What is on Zigzaggy?"),
        "the question contains the answer 'zigzag'",
    ),
    "an answer that is no option": (lambda: with_question(12, answer="Cap"), "neither of its two options"),
    "no evidence": (lambda: with_question(7, evidence=()), "nor its evidence says 'zigzag'"),
    "evidence twice": (lambda: with_question(7, evidence=(TurnPlace(1, 5),) * 2), "the same evidence twice"),
    "evidence in no session": (
        lambda: with_question(7, evidence=(TurnPlace(0, 1),)),
        "session 0, turn 1, which does not exist",
    ),
    "evidence in no turn": (
        lambda: with_question(7, evidence=(TurnPlace(1, 6),)),
        "session 1, turn 6, which does not exist",
    ),
    "about nothing that is shown": (
        lambda: with_question(9, text="What is the fruit?", evidence=(TurnPlace(3, 4),)),
        "nor its evidence says 'a pear'",
    ),
    "retrieval with a photo that is shown": (
        lambda: with_question(11, photos=(PHOTOS[1][0],)),
        "it comes with 0.jpg, which session",
    ),
    "another question with a photo that is shown": (
        lambda: with_question(7, photos=(PHOTOS[1][0],)),
        "it comes with 0.jpg, which session",
    ),
    "retrieval with a strange photo": (
        lambda: with_question(11, photos=(Path("x.jpg"),)),
        "x.jpg is not an unseen photo",
    ),
    "retrieval that names whom its photo shows": (
        lambda: with_question(11, text="What did Mochi break?"),
        "it names Mochi; a question that comes with a photo",
    ),
    "retrieval without the turns that show it": (
        lambda: with_question(11, evidence=(TurnPlace(1, 1),)),
        "no turn of its evidence shows Mochi",
    ),
    "retrieval of what nobody says": (lambda: with_question(11, answer="a cup"), "its evidence does not say 'a cup'"),
    "retrieval of what its photo shows": (
        lambda: with_question(11, answer="the aunt", evidence=(TurnPlace(2, 2), TurnPlace(2, 4))),
        "the answer 'the aunt' can be seen in its photo",
    ),
    "retrieval of how it looks": (
        lambda: with_question(11, answer="Guilty", evidence=(TurnPlace(2, 2),)),
        "the answer 'Guilty' can be seen in its photo",
    ),
    "retrieval without photo and name": (lambda: with_question(12, text="What was worn?"), "must name its concept"),
    "retrieval without photo and sight": (
        lambda: with_question(12, evidence=(TurnPlace(5, 3),)),
        "nor its evidence says 'Crown'",
    ),
    "no derivation": (lambda: with_question(3, derivation=None), "a temporal question needs its derivation"),
    "a wrong date": (lambda: with_question(3, answer="30 April 2023"), "by its derivation it must be '29 April 2023'"),
    "a date in vague words": (lambda: with_question(3, answer="last week"), "it must be '29 April 2023'"),
    **{
        f"{accepted!r} accepted for {29 if number == 3 else 5}": (
            lambda number=number, accepted=accepted: with_question(number, accepted=(accepted,)),
            f"{accepted!r} is accepted, but says something other",
        )
        for number, accepted in (
            *((3, "30 April 2023"), (3, "30 April"), (3, "May 29"), (3, "the 28th"), (3, "13"), (3, "5 days")),
            *((5, "6 days"), (5, "13"), (5, "29 April"), (5, "the 5th"), (5, "a week")),
        )
    },
    "a refusal accepted": (lambda: with_question(7, accepted=("no",)), "the accepted answer 'no' is a bare number or"),
    "a bare number accepted": (
        lambda: with_question(5, accepted=("5",)),
        "the accepted answer '5' is a bare number or",
    ),
    "a number word accepted": (lambda: with_question(7, accepted=("Two",)), "the accepted answer 'Two' is a bare"),
    "words that nobody says": (
        lambda: with_question(3, derivation=derived("1:3", "last Friday")),
        "session 1, turn 3 does not say 'last Friday'",
    ),
    "derived from nowhere": (
        lambda: with_question(3, derivation=derived("9:3", "last Friday")),
        "session 9, turn 3, which does not exist",
    ),
    "derived from elsewhere": (
        lambda: with_question(3, evidence=(TurnPlace(1, 1),)),
        "session 1, turn 3, which is not in its evidence",
    ),
    "counted backwards": (
        lambda: with_question(5, derivation=derived("1:3", "last Saturday", t2_2="yesterday")),
        "is not after the day it is counted from",
    ),
}


def test_a_good_group_is_clean() -> None:
    assert faults_of(GOOD, REQUEST) == []


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_reported(name: str) -> None:
    plant, words = FAULTS[name]
    faults = [*map(str, faults_of(plant(), REQUEST))]
    assert any(words in fault for fault in faults), faults
    assert all(fault.endswith(".") and "\n" not in fault for fault in faults)


def test_an_expression_without_a_date_is_reported() -> None:
    group = with_turn("1:3", text="I bought it the other day.")
    question = replace(group.questions[2], derivation=derived("1:3", "the other day"))
    group = replace(group, questions=(*group.questions[:2], question, *group.questions[3:]))
    assert any("does not say" in fault or "no single date" in fault for fault in map(str, faults_of(group, REQUEST)))
