"""Questions that are answered without a photo, because a name, a usual look or the part asked about gives the answer."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

import data_synthesis.classes as classes
from data_synthesis.check_group import faults_of
from data_synthesis.group import Attribute, DatedEvent, Derivation, GeneratedQuestion, GroupRequest
from data_synthesis.photo_facts import distinguishes
from data_synthesis.wording import content_of
from tests.good_group import GOOD, REQUEST, place


def with_attributes(concept: int, *attributes: Attribute, **changes: str) -> GroupRequest:
    concepts = list(REQUEST.group.concepts)
    stated = (*concepts[concept].attributes, *attributes)
    concepts[concept] = replace(concepts[concept], attributes=stated, **changes)
    return replace(REQUEST, group=replace(REQUEST.group, concepts=tuple(concepts)))


def faults(request: GroupRequest, category: int, text: str, answer: str, *evidence: str) -> str:
    """Returns the faults of the good group with one question in place of one of its own."""
    question = GeneratedQuestion(category, text, answer, tuple(map(place, evidence)))
    category_before = GOOD.questions[6].category
    assert category_before == 9
    group = replace(GOOD, questions=(*GOOD.questions[:6], question, *GOOD.questions[7:]))
    return " ".join(fault.sentence for fault in faults_of(group, request) if fault.question == 7)


@pytest.mark.parametrize(
    ("concept", "attribute", "text", "answer", "guessed"),
    [
        (0, Attribute("strap_colour", "dark red"), "What color is the strap of Rosso?", "dark red", True),
        (0, Attribute("strap_colour", "teal", ("red",)), "What color is the strap of Rosso?", "teal", True),
        (0, Attribute("strap_colour", "teal"), "What color is the strap of Rosso?", "teal", False),
        (0, Attribute("strap_colour", "dark red"), "What color is the strap that Ann showed first?", "dark red", True),
        (1, Attribute("nose_colour", "black"), "What color is Mochi's nose?", "black", True),
        (1, Attribute("nose_colour", "liver pink"), "What color is Mochi's nose?", "liver pink", False),
        (1, Attribute("pose", "sitting"), "What pose does Mochi take?", "sitting", True),
        (1, Attribute("pose", "sitting on its tail"), "What pose does Mochi take?", "sitting on its tail", False),
    ],
)
def test_what_a_name_or_a_usual_look_tells_is_no_question(concept, attribute, text, answer, guessed):
    turn = ("1:1", "1:5")[concept]
    told = faults(with_attributes(concept, attribute), 9, text, answer, turn)
    assert ("is guessed from its words alone" in told) == guessed, told


def test_a_part_that_only_one_thing_has_tells_which_thing_is_meant():
    """The zip is that of the bag, whoever shared it; a nose may be the cat's or the bear's, a colour anything's."""
    request = with_attributes(1, Attribute("nose_colour", "liver pink"), Attribute("lights", "a blue light"))
    request = replace(
        request,
        group=replace(
            request.group,
            concepts=(
                *request.group.concepts[:2],
                replace(request.group.concepts[2], attributes=(Attribute("ears", "round felt ears"),)),
            ),
        ),
    )
    asked = "What Ann showed before anything else: {}"
    for question, answer, turn, alone in (
        ("what hangs from its zip?", "a silver key", "1:1", True),
        ("what is its main color?", "crimson", "1:1", False),
        ("what shines on its chest?", "a blue light", "1:5", True),
        ("what color is its nose?", "liver pink", "1:5", False),
    ):
        told = faults(request, 9, asked.format(question), answer, turn)
        assert ("has what it asks about" in told) == alone, (question, told)


@pytest.mark.parametrize("live", [False, True])
def test_what_may_be_another_animals_follows_from_its_class(live):
    """A data set does not say what is alive, so that its check must not need it."""
    request = with_attributes(0, Attribute("breed_look", "corgi"))
    concepts = [request.group.concepts[0], *(replace(one, live=live) for one in request.group.concepts[1:])]
    for class_name, alone in (("cat", False), ("lamp", True)):
        concepts[1] = replace(concepts[1], class_name=class_name, attributes=())
        changed = replace(request, group=replace(request.group, concepts=tuple(concepts)))
        told = faults(changed, 9, "Of which breed is what Ann showed before anything else?", "corgi", "1:1")
        assert ("has what it asks about" in told) == alone, told


@pytest.mark.parametrize(("class_name", "alone"), [("cat", True), ("boot", False)])
def test_a_picture_named_by_a_look_may_be_of_another_of_its_kind(class_name, alone):
    """Of a bag and a cat that somebody shares, talk of what is eaten or worn tells which is which."""
    request = with_attributes(1, class_name=class_name)
    question = GeneratedQuestion(
        7,
        "When did Ann first share a picture of the quilted backpack?",
        "3 May 2023",
        (place("1:1"), place("2:3")),
        derivation=Derivation(DatedEvent(place("1:1"))),
    )
    assert GOOD.questions[4].category == 7
    group = replace(GOOD, questions=(*GOOD.questions[:4], question, *GOOD.questions[5:]))
    told = " ".join(fault.sentence for fault in faults_of(group, request) if fault.question == 5)
    assert ("so the photo is not needed" in told) == alone, told


def test_a_class_that_the_name_suggests_is_no_question_of_general_knowledge():
    text = "What is the Italian word for the kind of thing that Rosso is?"
    assert "suggests" not in faults(REQUEST, 8, text, "zaino", "1:1")
    clock = with_attributes(0, class_name="clock", name="Chime")
    assert "suggests a clock" in faults(clock, 8, text.replace("Rosso", "Chime"), "orologio", "1:1")


def test_photos_are_told_apart_by_half_of_the_words():
    rock, water = content_of("on a rock by the water"), content_of("on a rock in dark water")
    assert not distinguishes(rock, [water]) and not distinguishes(frozenset(), [water])
    assert distinguishes(content_of("on a rock by a tree"), [water]) and distinguishes(rock, [])


def test_what_general_knowledge_is_asked_fits_at_least_three_classes():
    """Else the question tells the class: what is asked of a species is asked of a dog."""
    table = json.loads(Path(classes.__file__).with_name("class_facts.json").read_text(encoding="utf-8"))
    answers = Counter((fact["ask"], fact["answer"]) for one in table["classes"].values() for fact in one["facts"])
    for text in {ask for ask, _ in answers}:
        assert sum(ask == text for ask, _ in answers) > 2, text
    for language in ("Spanish", "French", "Italian"):
        words = [one["words"][language][0] for one in table["classes"].values() if "words" in one]
        assert len(set(words)) > 10
    countries = Counter(forms[0] for forms in table["breeds"]["countries"].values())
    assert len(countries) > 5 and max(countries.values()) < len(table["breeds"]["countries"]) / 4
