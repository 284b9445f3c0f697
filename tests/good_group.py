"""A generated group in which nothing is wrong, and the request that it answers."""

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from data_synthesis.group import (
    Attribute,
    ConceptGroup,
    ConceptPhoto,
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    PersonalConcept,
    Placement,
    TurnPlace,
    VisualQuestion,
)
from tests.merged_conversations import GROUPS, HOSTS

START = datetime(2023, 5, 1, 13)
SKETCH, SPEAKERS = GROUPS[0], HOSTS[0]["speakers"]
PHOTOS = [[Path(f"{subject}/{view}.jpg") for view in range(2)] for subject, *_ in SKETCH["concepts"]]
UNSEEN = [Path(f"{subject}/unseen.jpg") for subject, *_ in SKETCH["concepts"]]
REQUEST = GroupRequest(
    dialogue_id="conv-1",
    speakers=SPEAKERS,
    group=ConceptGroup(
        1,
        tuple(
            PersonalConcept(
                *(subject, name, class_name, tuple(map(ConceptPhoto, photos, stated["settings"]))),
                short_description=stated["look"],
                attributes=(
                    *(Attribute(key, value) for key, value in stated["attributes"].items()),
                    *((Attribute("mood", "caught", ("guilty",)),) if name == "Mochi" else ()),
                ),
                questions=tuple(
                    VisualQuestion(photos[view], text, options, answer)
                    for view, text, options, answer in [stated["question"]]
                )
                if "question" in stated
                else (),
                unseen=(ConceptPhoto(unseen, "the aunt"),),
            )
            for (subject, name, class_name), photos, unseen, stated in zip(
                SKETCH["concepts"], PHOTOS, UNSEEN, SKETCH["stated"], strict=True
            )
        ),
    ),
    placement=Placement(
        1, START, START + timedelta(days=12), tuple(START + timedelta(days=2 * step) for step in range(1, 6))
    ),
    seed=1,
)


def place(text: str) -> TurnPlace:
    session, turn = text.split(":")
    return TurnPlace(int(session), int(turn))


def question_of(sketch: tuple[Any, ...]) -> GeneratedQuestion:
    category, text, answer, evidence, *more = sketch
    made = GeneratedQuestion(category, text, answer, tuple(map(place, evidence)))
    if category == 7:
        return replace(made, derivation=Derivation(*(DatedEvent(place(turn), words) for turn, words in more[0])))
    return replace(made, photos=(UNSEEN[more[0]],)) if more else made


GOOD = GeneratedGroup(
    tuple(
        tuple(
            GeneratedTurn(SPEAKERS[speaker], text, tuple(PHOTOS[concept][view] for concept, view in shown))
            for speaker, text, *shown in session
        )
        for session in SKETCH["sessions"]
    ),
    tuple(map(question_of, SKETCH["qa"])),
)
