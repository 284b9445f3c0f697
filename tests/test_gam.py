"""GAM: what memorizer, planner, integration and reflection are given, which tools find what, and when it ends."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from m2a.systems import registry
from m2a.systems.gam.pages import PAGES, cut
from m2a.systems.gam.variants import GAM
from m2a.systems.metered import tokens_of
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
    session(1, "I bought a canoe.", "Mine is a kayak."),
    session(2, "Olga moved to Lisbon.", "My parrot whistles."),
    session(3, "Olga works as a nurse.", "The pottery course is in Bristol."),
    session(4, "We painted the fence.", "The roof leaks."),
    session(5, "The cat sleeps.", "I lost my keys."),
    session(6, "Dinner was late.", "So was the train."),
    session(7, "I read a novel.", "I saw a film."),
]


def memo(prompt: Prompt) -> Mapping[str, Any]:
    new = said_in(prompt, "Session").splitlines()
    before = said_in(prompt, "Memory so far")
    return {"memo": f"About {new[0].split(': ', 1)[1]}", "header": "" if before == "nothing" else "Anna is a sailor."}


def integrate(prompt: Prompt) -> Mapping[str, Any]:
    lines = said_in(prompt, "Pages").splitlines()
    facts = [line.split(": ", 1)[1] for line in lines if "Olga" in line]
    before = [line for line in said_in(prompt, "Known so far").splitlines() if line != "nothing"]
    pages = [int(line.removeprefix("Page ")) for line in lines if line.startswith("Page ")]
    return {"content": "\n".join(dict.fromkeys(before + facts)), "sources": [*pages[:2], 99]}


def forms(**changed: Fill) -> dict[str, Fill]:
    return {
        "memo": memo,
        "plan": lambda prompt: {"info_needs": ["where"], "keywords": ["Lisbon"], "vector_queries": ["Olga moved"]},
        "integration": integrate,
        "reflection": lambda prompt: {"enough": True},
        "extracts": lambda prompt: {"passages": ["Olga moved to Lisbon.", "Olga moved to Porto."]},
        **changed,
    }


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(StepsModel(forms())) as server:
        yield server


async def test_a_memo_of_each_session_in_the_light_of_those_before_and_a_page_under_its_header(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    parts = parts_on(stores, model_of(server))
    place = await told(tmp_path / "data", "gam", parts, SESSIONS[:3])
    steps = steps_of(server)
    assert steps.steps == ["memo"] * 3 and place.system.ingestion.calls == 3
    assert said_in(steps.prompts("memo")[0], "Memory so far") == "nothing"
    assert said_in(steps.prompts("memo")[2], "Memory so far").splitlines() == [
        "Page 1: About I bought a canoe.",
        "Page 2: About Olga moved to Lisbon.",
    ]
    assert said_in(steps.prompts("memo")[2], "Session").splitlines()[0].endswith("Anna: Olga works as a nurse.")
    # The header is indexed with its page: pages 2 and 3 have one, and hold no such word of their own.
    assert (await place.found("sailor"))[:4] in (["D2:1", "D2:2", "D3:1", "D3:2"], ["D3:1", "D3:2", "D2:1", "D2:2"])
    steps.forget()
    reopened = await opened_again(place)
    assert await reopened.found("sailor") == await place.found("sailor") and steps.steps == []
    await reopened.system.observe(reopened.memory.record(SESSIONS[3]))
    assert len(said_in(steps.prompts("memo")[0], "Memory so far").splitlines()) == 3


async def test_plan_search_integrate_reflect_answer(tmp_path: Path, stores: SharedStores, server: ChatServer) -> None:
    parts = parts_on(stores, model_of(server))
    place = await told(tmp_path / "data", "gam", parts, SESSIONS)
    steps = steps_of(server)
    steps.forget()
    answer = await place.answer("Where did Olga move?")
    assert steps.steps == ["plan", "integration", "reflection", "answer"] and answer.usage.calls == 4
    plan, integration, reflection, answering = (prompt for _, prompt in steps.asked)
    assert said_in(plan, "Memory").splitlines()[1] == "Page 2: About Olga moved to Lisbon."
    assert "store of 7 pages" in plan.outside and "What is asked:\nWhere did Olga move?" in plan.outside
    assert said_in(integration, "Known so far") == "nothing"
    pages = [line for line in said_in(integration, "Pages").splitlines() if line.startswith("Page ")]
    assert pages[0] == "Page 2" and len(pages) == 5  # found by both tools; and no more than five
    assert "Olga moved to Lisbon." in said_in(reflection, "Known so far")
    assert "The question: Where did Olga move?" in reflection.outside
    assert "Olga moved to Lisbon." in said_in(answering, "Found") and "Page 2" not in said_in(answering, "Found")
    assert [place.references[source] for source in answer.sources][:2] == ["D2:1", "D2:2"]
    assert 0 < answer.search_seconds < answer.seconds


async def test_what_is_missing_is_looked_for_with_a_new_request_at_most_three_times(
    tmp_path: Path, stores: SharedStores
) -> None:
    def plan(prompt: Prompt) -> Mapping[str, Any]:
        asks = prompt.outside.split("What is asked:\n")[1]
        return {"info_needs": [], "keywords": ["nurse" if "work" in asks else "Lisbon"], "page_ids": [3, 99]}

    def reflect(prompt: Prompt) -> Mapping[str, Any]:
        return {"enough": False, "new_requests": ["What is Olga's work?", *map(str, range(9))]}

    with ChatServer(StepsModel(forms(plan=plan, reflection=reflect))) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "gam", parts, SESSIONS)
        steps_of(server).forget()
        answer = await place.answer("Where did Olga move, and what does she do?")
        rounds = ["plan", "integration", "reflection"] * 2 + ["plan", "integration", "answer"]
        assert steps_of(server).steps == rounds
        second = steps_of(server).prompts("plan")[1].outside.split("What is asked:\n")[1].splitlines()
        assert second[:6] == ["What is Olga's work?", "0", "1", "2", "3", ""]
        prompt = steps_of(server).prompts("integration")[1]
        assert "Olga moved to Lisbon." in said_in(prompt, "Known so far")
        assert "Olga works as a nurse." in said_in(prompt, "Pages")
        assert "The question: Where did Olga move, and" in prompt.outside
        found_block = said_in(steps_of(server).prompts("answer")[0], "Found")
        assert "Lisbon" in found_block and "nurse" in found_block
        assert [turn["round"] for turn in answer.trace if isinstance(turn, dict) and "round" in turn] == [1, 2, 3]


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("gam-only-page-id", {"page_ids"}),
        ("gam-only-vector", {"vector_queries"}),
        ("gam-only-keyword", {"keywords"}),
        ("gam-no-keyword", {"vector_queries", "page_ids"}),
        ("gam-no-page-id", {"keywords", "vector_queries"}),
        ("gam-no-vector", {"keywords", "page_ids"}),
    ],
)
async def test_a_tool_that_is_off_is_neither_offered_nor_used(
    tmp_path: Path, stores: SharedStores, name: str, fields: set[str]
) -> None:
    every = {"info_needs": [], "keywords": ["Bristol"], "vector_queries": ["I read a novel"], "page_ids": [4]}
    with ChatServer(StepsModel(forms(plan=lambda prompt: every))) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", name, parts, SESSIONS)
        answer = await place.answer("Where?")
        offered = steps_of(server).prompts("plan")[0].text.splitlines()[-1]
        assert {field for field in ("keywords", "vector_queries", "page_ids") if f'"{field}"' in offered} == fields
        [turn] = [turn for turn in answer.trace if isinstance(turn, dict) and "round" in turn]
        assert (4 in turn["pages"]) or "page_ids" not in fields
        assert (3 in turn["pages"]) or "keywords" not in fields
        assert (7 in turn["pages"]) or "vector_queries" not in fields
        if fields == {"keywords"}:
            assert turn["pages"] == [3]
        if fields == {"page_ids"}:
            assert turn["pages"] == [4]
            assert await place.system.retrieve(place.question("Bristol"), 5) is None and not registry.retrieves(name)


async def test_research_without_memory_and_memory_without_research(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    parts = parts_on(stores, model_of(server))
    without = await told(tmp_path / "data", "gam-no-memory", parts, SESSIONS[:3])
    pages = Notes(without.memory, "gam-no-memory").in_store(PAGES)
    assert without.system.ingestion.calls == 0 and all(page.text.startswith("Thursday") for page in pages[:1])
    assert not any("sailor" in page.text for page in pages)
    await without.answer("Where did Olga move?")
    assert steps_of(server).steps == ["plan", "integration", "reflection", "answer"]
    assert not [block for block in steps_of(server).prompts("plan")[0].blocks if block.title == "Memory"]

    alone = await told(tmp_path / "data", "gam-no-research", parts, SESSIONS[:3])
    steps_of(server).forget()
    answer = await alone.answer("Where did Olga move?")
    assert steps_of(server).steps == ["answer"] and answer.sources == ()
    assert said_in(steps_of(server).asked[0][1], "Found").splitlines()[1] == "Page 2: About Olga moved to Lisbon."
    assert not registry.retrieves("gam-no-research")


async def test_the_answer_is_given_the_pages_or_what_stands_in_them_word_for_word(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    parts = parts_on(stores, model_of(server))
    for name in ("gam-with-pages", "gam-with-extracts"):
        place = await told(tmp_path / "data", name, parts, SESSIONS)
        steps_of(server).forget()
        await place.answer("Where did Olga move?")
        found_lines = said_in(steps_of(server).prompts("answer")[0], "Found").splitlines()
        if name == "gam-with-pages":
            assert "Page 2" in found_lines and any("My parrot whistles." in line for line in found_lines)
        else:
            assert steps_of(server).steps == ["plan", "integration", "reflection", "extracts", "answer"]
            assert "Page 2" in said_in(steps_of(server).prompts("extracts")[0], "Pages")
            assert found_lines.count("Olga moved to Lisbon.") == 2 and "Olga moved to Porto." not in found_lines


async def test_a_long_session_is_several_pages_as_a_document_is(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    parts = parts_on(stores, model_of(server))
    long = session(1, *[f"Fact {number}: " + "word " * 400 for number in range(12)])
    place = await told(tmp_path / "data", "gam", parts, [long])
    assert steps_of(server).steps == ["memo"] * 3
    assert "Page 2: " in said_in(steps_of(server).prompts("memo")[2], "Memory so far")
    assert len(place.references) == 12
    pages = cut([(1, "x" * 10_000), (2, "short")], 2048)
    assert [{message_id for message_id, _ in page} for page in pages] == [{1}, {1, 2}]
    assert all(sum(tokens_of(line) for _, line in page) <= 2048 for page in pages)
    assert "".join(line for page in pages for message_id, line in page if message_id == 1) == "x" * 10_000


async def test_photos_by_caption_and_by_m2as_photo_path(
    tmp_path: Path, stores: SharedStores, server: ChatServer
) -> None:
    for name in ("gam", "gam-photos"):
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", name, parts, photos=True)
        assert "[photo: a red thing]" in said_in(steps_of(server).prompts("memo")[0], "Session")
        photo = tmp_path / "data" / "photos" / "asked.png"
        assert (await place.found("", photo))[:4] == ["D1:1", "D1:2", "D1:3", "D1:4"]
        steps_of(server).forget()
        await place.system.answer(place.question("Where is this kept?", photo), Meter())
        assert "[photo: a red thing]" in steps_of(server).prompts("plan")[0].outside
        assert len(server.requests[-1].photos) == (2 if name == "gam-photos" else 1)


async def test_rules_in_the_memorizers_place(tmp_path: Path, stores: SharedStores) -> None:
    parts = parts_on(stores, retrieval_only=True)
    place = await told(tmp_path / "data", "gam-offline", parts, SESSIONS)
    assert "D2:1" in (await place.found("Where did Olga move to: Lisbon?"))[:4]
    pages = Notes(place.memory, "gam-offline").in_store(PAGES)
    assert pages[1].text.startswith("Before: Page 1: Thursday 1 June 2023, 09:00, Anna: I bought a canoe.")
    assert place.system.ingestion.calls == 0 and "by rules" in place.system.version


# What fails


async def test_a_page_without_a_memo_is_searched_all_the_same_and_a_model_that_is_gone_is_told(
    tmp_path: Path, stores: SharedStores
) -> None:
    answers = iter([status(403, "out of order")])
    once = forms(memo=lambda prompt: next(answers, None) or memo(prompt))
    with ChatServer(StepsModel(once)) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "gam", parts, SESSIONS[:3])
        assert place.system.ingestion.failures == 1
        assert (await place.found("canoe"))[0] == "D1:1"
        assert said_in(steps_of(server).prompts("memo")[-1], "Memory so far").startswith("Page 2: ")
        steps_of(server).forms["integration"] = lambda prompt: status(403, "out of order")
        with pytest.raises(ChatModelError):  # no empty plan, no empty integration: the question fails
            await place.answer("Where did Olga move?")
        steps_of(server).forms["memo"] = lambda prompt: status(403, "out of order")
        with pytest.raises(ChatModelError):
            await told(tmp_path / "data", "gam", parts, SESSIONS)


async def test_two_sessions_with_the_same_memo_are_two_pages(tmp_path: Path, stores: SharedStores) -> None:
    same = forms(
        memo=lambda prompt: {"memo": "Small talk.", "header": ""},
        plan=lambda prompt: {"info_needs": [], "page_ids": [2]},
    )
    with ChatServer(StepsModel(same)) as server:
        parts = parts_on(stores, model_of(server))
        place = await told(tmp_path / "data", "gam", parts, SESSIONS[:3])
        answer = await place.answer("Where did Olga move?")
        assert said_in(steps_of(server).prompts("plan")[0], "Memory").count("Small talk.") == 3
        assert [place.references[source] for source in answer.sources] == ["D2:1", "D2:2"]


def test_each_ablation_differs_in_what_it_is_named_for() -> None:
    full = registry.settings_of("gam")
    changed = {name: {k for k, value in registry.settings_of(name).items() if value != full[k]} for name in GAM}
    assert {name: fields for name, fields in changed.items() if fields != {"tools"}} == {
        "gam": set(),
        "gam-no-memory": {"memory"},
        "gam-no-research": {"research"},
        "gam-with-pages": {"output"},
        "gam-with-extracts": {"output"},
        "gam-photos": {"photo_path"},
        "gam-offline": {"by_rules"},
        "gam-offline-photos": {"by_rules", "photo_path"},
    }
    assert len([name for name, fields in changed.items() if fields == {"tools"}]) == 6
