"""ENGRAM: what the router, each extractor and the answer are given, which stores are written, and what a failure leaves."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from m2a.benchmarks import read_locomo
from m2a.evaluation.estimate import estimate
from m2a.evaluation.record import IngestionRecord, QuestionRecord, read_rows
from m2a.evaluation.runner import run
from m2a.evaluation.selection import select
from m2a.systems import registry
from m2a.systems.engram.engram import Engram
from m2a.systems.engram.variants import ENGRAM, EngramVariant
from m2a.systems.model_steps import GaveUpError
from m2a.systems.notes import Notes
from m2a.systems.shared import SharedStores, Utterance
from m2a.systems.system import Meter, Question
from models.chat_model import ChatModelError
from tests.chat_server import ChatServer, Reply, say, status
from tests.dialogues import model_of, parts_of, parts_on, write_dialogues
from tests.placed_systems import NOW, opened_again, told
from tests.scripted_model import Prompt
from tests.steps_model import StepsModel, said_in, steps_of

LATER = [Utterance("D3:1", "user", "Ben", "The parrot flew off.", datetime(2023, 6, 9, 9, tzinfo=UTC))]
CANOE = "Monday 8 May 2023, 13:56, Anna: I bought a canoe at the lake yesterday."


def route(prompt: Prompt) -> Mapping[str, Any]:
    message = said_in(prompt, "Message")
    return {
        "episodic": "canoe at the lake" in message or "moved" in message,
        "semantic": "parrot" in message or "moved" in message,
        "procedural": "pottery course is" in message,
    }


def words(prompt: Prompt) -> str:
    return said_in(prompt, "Message").split(": ", 1)[1]


FORMS = {
    "route": route,
    "episode": lambda prompt: {
        "title": "Event",
        "summary": words(prompt),
        "timestamp": "7 May 2023" if "canoe" in words(prompt) else "",
    },
    "fact": lambda prompt: {"fact": words(prompt)},
    "procedure": lambda prompt: {"title": "Getting there", "content": ["Go to Bristol.", "Ask for the course."]},
}


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(StepsModel(FORMS)) as server:
        yield server


async def test_a_message_is_routed_and_each_bit_has_one_extractor(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    parts = parts_on(stores, model_of(server))
    place = await told(tmp_path / "data", "engram", parts)
    steps = steps_of(server)
    assert steps.steps.count("route") == 6
    assert (steps.steps.count("episode"), steps.steps.count("fact"), steps.steps.count("procedure")) == (2, 2, 1)
    assert said_in(steps.prompts("route")[0], "Message") == CANOE
    episode = steps.prompts("episode")[0]
    assert said_in(episode, "Message") == CANOE and "said on 8 May 2023, 13:56" in episode.outside
    assert place.system.ingestion.calls == 11 and place.system.ingestion.failures == 0

    steps.forget()
    answer = await place.answer("Where did Olga move?")
    assert steps.steps == ["answer"] and answer.text == "Lisbon" and answer.usage.calls == 1
    bank = said_in(steps.asked[0][1], "Found").splitlines()
    anna, ben = bank.index("Memories of Anna:"), bank.index("Memories of Ben:")
    assert set(bank[anna + 1 : ben]) == {
        "2 June 2023, 09:05: Event. My sister Olga moved to Lisbon.",  # the extractor gave no time: that of the message
        "2 June 2023, 09:05: My sister Olga moved to Lisbon.",
        "7 May 2023: Event. I bought a canoe at the lake yesterday.",
    }
    assert set(bank[ben + 1 :]) == {
        "8 May 2023, 13:56: My parrot Coco learned to whistle.",
        "2 June 2023, 09:05: Getting there. Go to Bristol. Ask for the course.",
    }
    assert place.references[answer.sources[0]] == "D2:1"
    assert (await place.found("Where did Olga move?"))[0] == "D2:1"


async def test_what_was_taken_in_is_there_after_another_start(tmp_path: Path, server: ChatServer) -> None:
    parts = parts_of(model_of(server))(tmp_path / "work")
    place = await told(tmp_path / "data", "engram", parts)
    before, calls, encoded = await place.found("Coco the parrot"), len(server.requests), parts.stores.encoded
    reopened = await opened_again(place)
    assert await reopened.found("Coco the parrot") == before
    assert len(server.requests) == calls and parts.stores.encoded == encoded + 1  # the question
    more = reopened.memory.record(LATER)  # a session that comes later is added to what is there
    await reopened.system.observe(more)
    assert steps_of(server).steps.count("route") == 7
    assert (await opened_again(reopened)).references.keys() == {*range(1, 8)}
    parts.stores.close()


@pytest.mark.parametrize(
    ("name", "extractors"),
    [
        ("engram-episodic-only", {"episode"}),
        ("engram-semantic-only", {"fact"}),
        ("engram-procedural-only", {"procedure"}),
        ("engram-single-store", set()),
    ],
)
async def test_an_ablation_writes_and_reads_its_stores_alone(
    tmp_path: Path, stores: SharedStores, server: ChatServer, name: str, extractors: set[str]
) -> None:
    parts = parts_on(stores, model_of(server))
    place = await told(tmp_path / "data", name, parts)
    assert set(steps_of(server).steps) - {"route"} == extractors
    assert ("route" in steps_of(server).steps) == (name != "engram-single-store")
    steps_of(server).forget()
    await place.answer("Where did Olga move?")
    found_block = said_in(steps_of(server).asked[0][1], "Found")
    assert ("Event." in found_block) == (name == "engram-episodic-only")
    assert ("Getting there." in found_block) == (name == "engram-procedural-only")
    if name == "engram-single-store":
        assert f"8 May 2023, 13:56: {CANOE}" in found_block.splitlines() and place.system.ingestion.calls == 0


async def test_each_speaker_gets_k_records_from_alternating_types_without_duplicates(
    tmp_path: Path, stores: SharedStores
) -> None:
    """Of one type there are many near ones: they leave room for the other, and nothing stands twice."""
    every = {"episodic": True, "semantic": True, "procedural": False}
    forms = {
        "route": lambda prompt: every,
        "episode": lambda prompt: {"title": "Lisbon", "summary": words(prompt), "timestamp": "2020"},
        "fact": lambda prompt: {"fact": "The same fact." if "Ben" in said_in(prompt, "Message") else words(prompt)},
    }
    with ChatServer(StepsModel(forms)) as server:
        parts = parts_on(stores, model_of(server))
        memory = (await told(tmp_path / "data", "engram", parts)).memory
        small = Engram("engram", EngramVariant(k=3), memory, parts)
        steps_of(server).forget()
        await small.answer(Question("Lisbon?", NOW), Meter())
        anna, _, ben = said_in(steps_of(server).asked[0][1], "Found").partition("Memories of Ben:\n")
        lines = anna.splitlines()[2:]
        assert len(lines) == 3 and sum("2020: Lisbon." in line for line in lines) == 2
        assert len(ben.splitlines()) == 3 and ben.count("The same fact.") == 1


async def test_photos_are_remembered_by_captions_and_found_by_m2as_photo_path(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    steps_of(server).forms["route"] = lambda prompt: {"episodic": False, "semantic": True, "procedural": False}
    for name, first in (("engram", None), ("engram-photos", "D1:3")):
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", name, parts, photos=True)
        assert any("[photo: a red thing]" in said_in(p, "Message") for p in steps_of(server).prompts("fact"))
        found_ids = await place.found("", tmp_path / "data" / "photos" / "asked.png", k=3)
        assert "D1:3" in found_ids and (first is None or found_ids[0] == first)
        steps_of(server).forget()
        question = place.question("Where is this kept?", tmp_path / "data" / "photos" / "asked.png")
        await place.system.answer(question, Meter())
        assert len(server.requests[-1].photos) == (2 if name == "engram-photos" else 1)


async def test_rules_in_the_models_place(tmp_path: Path, stores: SharedStores) -> None:
    parts = parts_on(stores, retrieval_only=True)
    place = await told(tmp_path / "data", "engram-offline", parts)
    notes = Notes(place.memory, "engram-offline")
    assert [note.fields["when"] for note in notes.in_store("Anna/episodic")][:1] == ["7 May 2023"]
    assert len(notes.in_store("Anna/semantic")) == 3 and len(notes.in_store("Ben/semantic")) == 3
    assert (await place.found("Who moved to Lisbon?"))[0] == "D2:1"
    assert place.system.ingestion.calls == 0 and "by rules" in place.system.version
    with pytest.raises(registry.UnknownSystemError, match="use engram-offline"):
        registry.check(("engram",), retrieval_only=True, has_model=False)
    registry.check(("engram-offline", "engram-single-store"), retrieval_only=True, has_model=False)


# What fails


async def test_an_answer_that_does_not_fit_is_given_back_and_one_failure_loses_one_message(
    tmp_path: Path, stores: SharedStores
) -> None:
    answers = iter(["", "", "", "My parrot Coco whistles."])

    def fact(prompt: Prompt) -> Mapping[str, Any]:
        return {"fact": next(answers, "Known.")}

    only_facts = {"episodic": False, "semantic": True, "procedural": False}
    with ChatServer(StepsModel({"route": lambda prompt: only_facts, "fact": fact})) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "engram", parts)
        complained = steps_of(server).prompts("fact")[1]
        assert "could not be used" in complained.outside and "fact: String should have at least" in complained.outside
        assert place.system.ingestion.failures == 1
        assert len(Notes(place.memory, "engram").in_store("Anna/semantic")) == 2
        assert await place.found("Coco") != []


@pytest.mark.parametrize(
    ("reply", "error"), [(status(400, "out of order"), ChatModelError), (say("I would rather chat."), GaveUpError)]
)
async def test_a_model_that_fails_stops_the_taking_in(
    tmp_path: Path, stores: SharedStores, reply: Reply, error: type[Exception]
) -> None:
    with ChatServer(reply) as server:
        parts = parts_on(stores, model_of(server))
        with pytest.raises(error):
            await told(tmp_path / "data", "engram", parts)


async def test_a_model_that_routes_and_never_fills_in_a_record_stops_it_too(
    tmp_path: Path, stores: SharedStores
) -> None:
    only_facts = {"episodic": False, "semantic": True, "procedural": False}
    forms = {"route": lambda prompt: only_facts, "fact": lambda prompt: {"fact": ""}}
    with ChatServer(StepsModel(forms)) as server:
        parts = parts_on(stores, model_of(server))
        with pytest.raises(GaveUpError, match="no usable answer to fact in 3 tries"):
            await told(tmp_path / "data", "engram", parts)


async def test_a_store_that_memorising_and_asking_do_not_share_is_a_failed_row(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a published harness had it: what was memorised went elsewhere, and an empty store was asked."""

    class Elsewhere(Notes):
        def add(self, *given: Any) -> None:
            Notes(self._memory.shared.memory("f" * 32), "engram").add(*given)

    monkeypatch.setattr("m2a.systems.published_system.Notes", Elsewhere)
    (tmp_path / "data").mkdir()
    benchmark = select(read_locomo(write_dialogues(tmp_path / "data")), limit=2)
    result = await run(benchmark, ["engram"], tmp_path / "out", parts=parts_of(model_of(server)), settings={})
    rows = read_rows(tmp_path / "out" / "questions.jsonl", QuestionRecord)
    assert result.failed == len(rows) == 2
    assert all("The dialogue has 6 messages, and the notes of engram cover 0" in (row.error or "") for row in rows)
    assert all(row.retrieved is None and row.reply is None for row in rows)


async def test_a_whole_run_says_what_it_took(tmp_path: Path, server: ChatServer) -> None:
    (tmp_path / "data").mkdir()
    benchmark = read_locomo(write_dialogues(tmp_path / "data"))
    names = ["engram", "engram-offline", "engram-single-store"]
    expected = estimate(benchmark, names, asks_model=True, judges=0, window=1000)
    assert [usage.calls for usage in expected] == [6 * 2 + 4, 4, 4]
    result = await run(benchmark, names, tmp_path / "out", parts=parts_of(model_of(server)), settings={})
    assert result.failed == 0
    calls = {row.system: row.calls for row in read_rows(tmp_path / "out" / "ingestion.jsonl", IngestionRecord)}
    assert calls == {"engram": 11, "engram-offline": 0, "engram-single-store": 0}
    versions = {row.system: row.version for row in read_rows(tmp_path / "out" / "ingestion.jsonl", IngestionRecord)}
    assert versions["engram-offline"] == "K = 25, records by rules"


def test_each_ablation_differs_in_what_it_is_named_for() -> None:
    full = registry.settings_of("engram")
    changed = {
        name: {key for key, value in registry.settings_of(name).items() if value != full[key]} for name in ENGRAM
    }
    assert changed.pop("engram") == set() and changed.pop("engram-photos") == {"photo_path"}
    assert changed.pop("engram-offline") == {"by_rules"}
    assert changed.pop("engram-offline-photos") == {"by_rules", "photo_path"}
    assert set(map(frozenset, changed.values())) == {frozenset({"types"})}
