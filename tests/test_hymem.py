"""HyMem: units and summaries, the light and the deep module, and the reflection whose question is really searched."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from m2a.systems import registry
from m2a.systems.hymem.units import SUMMARIES, UNITS, complete
from m2a.systems.hymem.variants import HYMEM, HymemVariant
from m2a.systems.notes import Notes
from m2a.systems.shared import SharedStores
from m2a.systems.system import Meter
from models.chat_model import ChatModelError
from tests.chat_server import ChatServer, status
from tests.dialogues import model_of, parts_on, session
from tests.placed_systems import opened_again, told
from tests.scripted_model import Prompt
from tests.steps_model import Fill, StepsModel, said_in, steps_of

SESSIONS = [
    session(1, "Hi!", "I bought a canoe.", "Coco can whistle now.", "Bye!"),
    session(2, "Olga is my sister.", "She has moved to Lisbon.", "The roof leaks."),
]
CHAPTERS = {
    "canoe": [("the canoe", [1, 2]), ("the parrot", [2, 3])],  # message 2 is in both, message 4 in none
    "Olga": [("Olga", [1, 2]), ("the roof", [3, 77])],
}
SENTENCES = {
    "the canoe": ["Anna bought a canoe."],
    "the parrot": ["The parrot Coco can whistle."],
    "Olga": ["Olga is Anna's sister.", "Olga has moved to Lisbon."],
    "the roof": ["The roof leaks."],
}


def divide(prompt: Prompt) -> Mapping[str, Any]:
    new = said_in(prompt, "Session")
    [units] = [units for word, units in CHAPTERS.items() if word in new]
    return {"units": [{"topic": topic, "messages": numbers} for topic, numbers in units]}


def summarise(prompt: Prompt) -> Mapping[str, Any]:
    return {"sentences": SENTENCES[said_in(prompt, "Unit").splitlines()[0].removeprefix("Topic: ")]}


def choose(prompt: Prompt) -> Mapping[str, Any]:
    lines = said_in(prompt, "Summaries").splitlines()
    return {"ids": [int(line.split(":")[0].removeprefix("id ")) for line in lines if "Lisbon" in line] + [999]}


def forms(**changed: Fill) -> dict[str, Fill]:
    return {
        "division": divide,
        "summary": summarise,
        "light_answer": lambda prompt: {"complete": True, "answer": "a canoe"},
        "choice": choose,
        "deep_answer": lambda prompt: {"answer": "Lisbon"},
        "review": lambda prompt: {"finished": True},
        **changed,
    }


def unsure(prompt: Prompt) -> Mapping[str, Any]:
    return {"complete": False, "answer": "perhaps"}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(StepsModel(forms())) as server:
        yield server


async def test_a_session_is_divided_by_topic_and_each_summary_leads_to_its_unit(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    parts = parts_on(stores, model_of(server))
    place = await told(tmp_path / "data", "hymem", parts, SESSIONS)
    assert steps_of(server).steps == ["division", "summary", "summary"] * 2 and place.system.ingestion.calls == 6
    assert said_in(steps_of(server).prompts("division")[0], "Session").splitlines()[1] == (
        "2. Thursday 1 June 2023, 09:00, Ben: I bought a canoe."
    )
    assert "I bought a canoe." in said_in(steps_of(server).prompts("summary")[1], "Unit")
    notes = Notes(place.memory, "hymem", without_vectors=(UNITS,))
    units = {note.fields["topic"]: [place.references[m] for m in note.message_ids] for note in notes.in_store(UNITS)}
    assert units == {
        "the canoe": ["D1:1", "D1:2"],
        "the parrot": ["D1:2", "D1:3", "D1:4"],  # the overlap, and the message that had been left out
        "Olga": ["D2:1", "D2:2"],
        "the roof": ["D2:3"],
    }
    level_1 = [(note.text, note.fields["unit"]) for note in notes.in_store(SUMMARIES)]
    assert ("Olga is Anna's sister.", "2") in level_1 and ("Olga has moved to Lisbon.", "2") in level_1
    assert len(level_1) == 5

    calls = len(server.requests)
    reopened = await opened_again(place)
    assert await reopened.found("Lisbon") == await place.found("Lisbon") and len(server.requests) == calls
    await reopened.system.observe(reopened.memory.record(session(3, "I bought a canoe again.")))
    assert Notes(place.memory, "hymem").in_store(UNITS)[-1].fields["unit"] == "4"


async def test_where_the_summaries_are_enough_nothing_else_is_looked_at(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    parts = parts_on(stores, model_of(server))
    place = await told(tmp_path / "data", "hymem", parts, SESSIONS)
    steps_of(server).forget()
    answer = await place.answer("What did Anna buy?")
    assert steps_of(server).steps == ["light_answer", "review"] and answer.text == "a canoe" and answer.usage.calls == 2
    light, review = (prompt for _, prompt in steps_of(server).asked)
    assert "1 June 2023: Anna bought a canoe." in said_in(light, "Summaries").splitlines()
    assert not [block for block in light.blocks if block.title == "Found before"]
    assert said_in(review, "Answer") == "a canoe" and "The question: What did Anna buy?" in review.outside
    assert [place.references[source] for source in answer.sources][:2] == ["D1:1", "D1:2"]


async def test_the_deep_module_chooses_in_batches_and_reads_the_raw_units(tmp_path: Path, stores: SharedStores) -> None:
    many = [session(day, "Olga is my sister.", "She has moved to Lisbon.", f"Roof {day}.") for day in range(1, 13)]
    with ChatServer(StepsModel(forms(light_answer=unsure))) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "hymem", parts, many)
        steps_of(server).forget()
        answer = await place.answer("Where has Olga moved?")
        steps = steps_of(server).steps
        assert steps == ["light_answer", "choice", "choice", "choice", "deep_answer", "review"]
        assert len(said_in(steps_of(server).prompts("light_answer")[0], "Summaries").splitlines()) == 10
        batches = [said_in(prompt, "Summaries").splitlines() for prompt in steps_of(server).prompts("choice")]
        assert sorted(map(len, batches)) == [10, 10, 10]
        ids = sorted(int(line.split(":")[0].removeprefix("id ")) for batch in batches for line in batch)
        assert ids == list(range(30))
        deep = steps_of(server).prompts("deep_answer")[0]
        read = said_in(deep, "Conversation").splitlines()
        assert len(read) == 24 and any("She has moved to Lisbon." in line for line in read)
        assert not any("Roof" in line for line in read) and "The question: Where has Olga moved?" in deep.outside
        assert answer.text == "Lisbon" and len(answer.sources) == 24


async def test_the_rewritten_question_is_searched_and_the_pool_keeps_what_was_found(
    tmp_path: Path, stores: SharedStores
) -> None:
    """Algorithm 1: the query of the next round is the reflection's, the question that is answered stays the first one."""
    reviews = iter([{"finished": False, "new_question": "Where has Olga moved?"}, {"finished": True}])
    summaries: list[str] = []

    def light(prompt: Prompt) -> Mapping[str, Any]:
        summaries.append(said_in(prompt, "Summaries").splitlines()[0])
        return {"complete": True, "answer": "Olga" if len(summaries) == 1 else "Lisbon"}

    with ChatServer(StepsModel(forms(light_answer=light, review=lambda prompt: next(reviews)))) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "hymem", parts, SESSIONS)
        steps_of(server).forget()
        answer = await place.answer("Who is a sister of Anna's?")
        assert steps_of(server).steps == ["light_answer", "review"] * 2
        assert summaries == ["2 June 2023: Olga is Anna's sister.", "2 June 2023: Olga has moved to Lisbon."]
        second = steps_of(server).prompts("light_answer")[1]
        assert said_in(second, "Found before") == "Who is a sister of Anna's? → Olga"
        assert "The question: Who is a sister of Anna's?" in second.outside
        assert answer.text == "Lisbon"
        assert [turn["query"] for turn in answer.trace if isinstance(turn, dict) and "query" in turn] == [
            "Who is a sister of Anna's?",
            "Where has Olga moved?",
        ]


async def test_reflection_ends_after_the_last_round_with_the_answer_that_there_is(
    tmp_path: Path, stores: SharedStores
) -> None:
    never = forms(light_answer=unsure, review=lambda prompt: {"finished": False, "new_question": "And the roof?"})
    with ChatServer(StepsModel(never)) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "hymem", parts, SESSIONS)
        steps_of(server).forget()
        answer = await place.answer("Where has Olga moved?")
        steps = ["light_answer", "choice", "deep_answer"]
        assert steps_of(server).steps == [*steps, "review", *steps, "review", *steps] and answer.text == "Lisbon"
        pool = said_in(steps_of(server).prompts("deep_answer")[2], "Found before").splitlines()
        assert pool == ["Where has Olga moved? → Lisbon", "And the roof? → Lisbon"]
        assert "The question: And the roof?" in steps_of(server).prompts("choice")[1].outside
        assert "The question: Where has Olga moved?" in steps_of(server).prompts("deep_answer")[1].outside


@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("hymem-no-deep", ["light_answer", "review"]),
        ("hymem-no-light", ["choice", "deep_answer", "review"]),
        ("hymem-no-reflection", ["light_answer", "choice", "deep_answer"]),
        ("hymem-light-only", ["light_answer"]),
        ("hymem-deep-only", ["choice", "deep_answer"]),
        ("hymem-raw", ["light_answer", "review"]),
        ("hymem-raw-no-reflection", ["light_answer"]),
    ],
)
async def test_a_module_that_is_off_is_not_asked(
    tmp_path: Path, stores: SharedStores, name: str, steps: list[str]
) -> None:
    with ChatServer(StepsModel(forms(light_answer=unsure))) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", name, parts, SESSIONS)
        assert ("summary" in steps_of(server).steps) == ("raw" not in name)
        steps_of(server).forget()
        answer = await place.answer("Where has Olga moved?")
        assert steps_of(server).steps == steps
        assert answer.text == ("Lisbon" if "deep_answer" in steps else "perhaps")
        if "raw" in name:
            read = said_in(steps_of(server).asked[0][1], "Conversation").splitlines()
            assert any("She has moved to Lisbon." in line for line in read) and len(read) == 7
        if "light_answer" in steps:
            strict = "Be strict" in steps_of(server).asked[0][1].outside
            assert strict == ("deep_answer" in steps)  # where nothing else is looked at, it answers as well as it can
        assert (await place.found("Olga in Lisbon"))[0] == "D2:1"


async def test_photos_by_caption_and_by_m2as_photo_path(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    steps_of(server).forms["division"] = lambda prompt: {
        "units": [{"topic": "it", "messages": [number]} for number in range(1, 5)]
    }
    steps_of(server).forms["summary"] = lambda prompt: {"sentences": [said_in(prompt, "Unit").splitlines()[1]]}
    for name in ("hymem", "hymem-photos"):
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", name, parts, photos=True)
        assert "[photo: a red thing]" in said_in(steps_of(server).prompts("division")[0], "Session")
        photo = tmp_path / "data" / "photos" / "asked.png"
        assert "D1:3" in (await place.found("", photo))[: 1 if name == "hymem-photos" else 4]
        steps_of(server).forget()
        await place.system.answer(place.question("Where is this kept?", photo), Meter())
        light = steps_of(server).prompts("light_answer")[0]
        assert "The question: Where is this kept? [photo: a red thing]" in light.outside
        assert len(server.requests[-2].photos) == (2 if name == "hymem-photos" else 1)


async def test_rules_divide_and_summarise_in_the_models_place(tmp_path: Path, stores: SharedStores) -> None:
    parts = parts_on(stores, retrieval_only=True)
    place = await told(tmp_path / "data", "hymem-offline", parts, SESSIONS)
    notes = Notes(place.memory, "hymem-offline", without_vectors=(UNITS,))
    units = [set(note.message_ids) for note in notes.in_store(UNITS)]
    assert set().union(*units) == set(place.references) and sum(map(len, units)) > len(place.references)  # an overlap
    assert (
        (await place.found("Lisbon"))[:2] and place.system.ingestion.calls == 0 and "by rules" in place.system.version
    )


def test_every_message_is_in_a_unit_and_no_number_is_made_up() -> None:
    lines = [(10, "a"), (11, "b"), (12, "c"), (13, "d")]
    units = complete([("x", [2]), ("y", [9, 3])], lines)
    assert [unit.message_ids for unit in units] == [(10, 11), (12, 13)]
    assert [unit.message_ids for unit in complete([("x", [7])], lines)] == [(10, 11, 12, 13)]


# What fails


async def test_what_could_not_be_divided_or_summarised_is_kept_whole_and_counted(
    tmp_path: Path, stores: SharedStores
) -> None:
    failures = iter([status(403, "out of order")])
    once = forms(division=lambda prompt: next(failures, None) or divide(prompt))
    with ChatServer(StepsModel(once)) as server:
        steps_of(server).forms["summary"] = lambda prompt: {
            "sentences": ["Something."] if "roof" in prompt.text else []
        }
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "hymem", parts, SESSIONS)
        notes = Notes(place.memory, "hymem", without_vectors=(UNITS,))
        assert place.system.ingestion.failures == 3
        assert [len(note.message_ids) for note in notes.in_store(UNITS)] == [4, 2, 1]
        assert "I bought a canoe." in notes.in_store(SUMMARIES)[0].text  # the unit stands for itself
        assert "D1:1" in await place.found("I bought a canoe", k=25)
        steps_of(server).forms["light_answer"] = unsure
        steps_of(server).forms["choice"] = lambda prompt: status(403, "out of order")
        with pytest.raises(ChatModelError):
            await place.answer("What did Anna buy?")


def test_each_ablation_differs_in_what_it_is_named_for() -> None:
    full = registry.settings_of("hymem")
    changed = {name: {k for k, value in registry.settings_of(name).items() if value != full[k]} for name in HYMEM}
    assert changed == {
        "hymem": set(),
        "hymem-no-deep": {"deep"},
        "hymem-no-light": {"light"},
        "hymem-no-reflection": {"reflection"},
        "hymem-light-only": {"deep", "reflection"},
        "hymem-deep-only": {"light", "reflection"},
        "hymem-raw": {"summaries", "deep"},
        "hymem-raw-no-reflection": {"summaries", "deep", "reflection"},
        "hymem-photos": {"photo_path"},
        "hymem-offline": {"by_rules"},
        "hymem-offline-photos": {"by_rules", "photo_path"},
    }
    with pytest.raises(ValueError, match="needs the light module or the deep one"):
        HymemVariant(light=False, deep=False)
