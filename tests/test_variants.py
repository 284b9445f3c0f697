"""What an evaluated M2A is told: of the people who speak, of an assistant, and of what an ablation leaves of the memory."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from m2a.agents.consent_prompt import TOOL
from m2a.systems import registry
from m2a.systems.shared import Memory, Parts, SharedStores, Utterance
from m2a.systems.system import Meter, Question
from m2a.types import MemoryEntry, Role
from tests.chat_server import ChatServer, Reply
from tests.dialogues import model_of, parts_on
from tests.placed_systems import choose
from tests.scripted_model import Prompt, ScriptedModel, as_asked

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
CANOE = "I bought a canoe at the lake yesterday."
PARROT = "My parrot Coco learned to whistle."
TALK = [("Anna", CANOE), ("Ben", PARROT), ("Anna", "The canoe is in its shed."), ("Ben", "Coco sings on Mondays.")]

Lines = Sequence[tuple[str, str]]


async def observe(parts: Parts, name: str, lines: Lines, *, assistant: str = "") -> tuple[Memory, Any]:
    """Returns the memory and the system after one session; `assistant` names the speaker who is an assistant."""
    memory = parts.stores.fresh_memory(name)
    system = await registry.open_system(name, memory, parts)
    roles: dict[bool, Role] = {True: "assistant", False: "user"}
    session = [
        Utterance(f"D1:{number}", roles[speaker == assistant], speaker, text, START + timedelta(minutes=number))
        for number, (speaker, text) in enumerate(lines, start=1)
    ]
    await system.observe(memory.record(session))
    return memory, system


def entries(memory: Memory) -> list[MemoryEntry]:
    with memory.shared.database.read(memory.owner) as unit:
        return list(memory.shared.semantic.all(unit))


async def requests_of(stores: SharedStores, name: str) -> list[dict[str, Any]]:
    """Returns all requests to the model, with tools, while the system takes in the talk and answers a question."""
    with ChatServer(ScriptedModel(choose, lambda prompt: "A canoe.")) as server:
        parts = parts_on(stores, model_of(server))
        _memory, system = await observe(parts, name, TALK)
        await system.answer(Question("What did Anna buy?", START, ()), Meter())
        return [request.json for request in server.requests]


def text_of(requests: Sequence[Mapping[str, Any]]) -> str:
    """Returns the text of the prompts and of the tools, without line breaks."""
    return " ".join(json.dumps(request, ensure_ascii=False) for request in requests).replace("\\n", " ")


LEFT_OUT = {
    "m2a-semantic-only": ("raw", "fetch"),
    "m2a-single-retrieval": ("query again", "search again", "drill down"),
    "m2a-dense-only": ("use_photos", "attached photos", "when photos are used"),
}


@pytest.mark.parametrize("name", LEFT_OUT)
async def test_what_an_ablation_leaves_out_is_neither_offered_nor_spoken_of(stores: SharedStores, name: str) -> None:
    whole, ablated = text_of(await requests_of(stores, "m2a-paper")), text_of(await requests_of(stores, name))
    for words in LEFT_OUT[name]:
        assert words in whole and words not in ablated
    assert "which finds raw messages too" not in whole, "as published a search finds entries alone"
    others = {words for other, of_other in LEFT_OUT.items() if other != name for words in of_other}
    assert all(words in ablated for words in others & {"use_photos", "query again"}), "nothing else is left out"


async def test_the_system_itself_is_told_that_a_search_finds_messages(stores: SharedStores) -> None:
    assert "Search the semantic memories and the raw messages, in one ranking" in text_of(
        await requests_of(stores, "m2a")
    )


async def test_the_context_that_varies_is_the_managers_alone(stores: SharedStores) -> None:
    seen = {}
    for turns in (0, 1, 5):
        prompts = [Prompt.of(request) for request in await requests_of(stores, f"m2a-context-{turns}")]
        for stage in ("update", "manage update"):
            of_stage = [prompt for prompt in prompts if prompt.stage == stage and not prompt.steps]
            seen[turns, stage] = [prompt.material.count(" user (") for prompt in of_stage]
        replies = [prompt for prompt in prompts if prompt.stage == "generate"]
        assert len(replies) == 1 and "Recent conversation" not in replies[0].text
    assert [seen[turns, "manage update"] for turns in (0, 1, 5)] == [[0, 0], [0, 2], [0, 2]]
    assert [seen[turns, "update"] for turns in (0, 1, 5)] == [[0, 2]] * 3


# Who speaks


class CopyingCheck:
    """Consents to what it can quote from the new message, like a check that copies the supporting words."""

    def __init__(self, *words: str) -> None:
        self.words = words
        self.prompts: list[Prompt] = []
        self._model = ScriptedModel(self.keep, lambda prompt: "Fine.")

    def keep(self, prompt: Prompt) -> Any:
        if prompt.stage != "manage update":
            return choose(prompt)
        last = prompt.message_id
        kept = [words for words in self.words if words in prompt.said]
        writes = [("add_memory", {"text": f"Kept: {words}", "evidence_ids": [[last, last]]}) for words in kept]
        return writes or ("finish", {})

    def __call__(self, request: dict[str, Any]) -> Reply:
        prompt = Prompt.of(request)
        self.prompts.append(prompt)
        if prompt.stage != "consent":
            return self._model(request)
        verdicts = []
        for number, block in enumerate([b for b in prompt.blocks if b.title.startswith("Proposal")], start=1):
            words = json.loads(block.body)["text"].removeprefix("Kept: ")
            is_quoted = words in prompt.said
            verdict = {"proposal": number, "reason": "", "words": words if is_quoted else "", "supported": is_quoted}
            verdicts.append({**verdict, "rests_on": "stated", "asked_for": True})
        return as_asked(request, (TOOL, {"verdicts": verdicts}))


@pytest.mark.parametrize("name", ["m2a", "m2a-paper"])
async def test_each_of_two_people_states_what_they_say(stores: SharedStores, name: str) -> None:
    talk = [("Anna", "Look at my canoe. What do you think of this?"), ("Ben", PARROT)]
    model = CopyingCheck(PARROT)
    with ChatServer(model) as server:
        parts = parts_on(stores, model_of(server))
        memory, _system = await observe(parts, name, talk)
        [entry] = entries(memory)
        assert entry.text == f"Kept: {PARROT}" and entry.rests_on == "stated"
        [check] = [prompt for prompt in model.prompts if prompt.stage == "consent"]
        assert "Anna and Ben talk to each other, and each of them counts as the user" in check.outside
        assert f"Ben (message 2): {PARROT}" in check.said and "pasted" not in check.said


@pytest.mark.parametrize("name", ["m2a", "m2a-paper"])
async def test_an_assistant_of_the_data_is_the_assistant(stores: SharedStores, name: str) -> None:
    says, proposes, takes = "I have a parrot.", "Call it Coco, I would say.", "Good, that is what it is called."
    talk = [("user", says), ("assistant", proposes), ("user", takes), ("assistant", "A fine name.")]
    model = CopyingCheck(says, proposes, takes)
    with ChatServer(model) as server:
        parts = parts_on(stores, model_of(server))
        memory, _system = await observe(parts, name, talk, assistant="assistant")
        assert [entry.text for entry in entries(memory)] == [f"Kept: {says}", f"Kept: {takes}"]
        assert [entry.evidence_ids for entry in entries(memory)] == [((1, 1),), ((3, 3),)]
        updates = [prompt for prompt in model.prompts if prompt.stage == "manage update"]
        assert [prompt.said for prompt in updates if not prompt.steps] == [says, takes]
        replies = [block.body for block in updates[0].blocks if block.title == "The assistant's reply"]
        assert len(replies) == 1 and proposes in replies[0]
        checks = [prompt for prompt in model.prompts if prompt.stage == "consent"]
        before = [b.body for b in checks[1].blocks if b.title == "The assistant's message before"]
        assert len(before) == 1 and proposes in before[0] and "talk to each other" not in checks[1].text


async def test_the_rules_keep_of_each_what_they_said_and_of_an_assistant_nothing(stores: SharedStores) -> None:
    parts = parts_on(stores)
    talk = [("Anna", "My dog is called Bobo."), ("Ben", "Actually, my dog is called Rex, not Bobo.")]
    memory, _system = await observe(parts, "m2a", talk)
    assert {entry.text.partition(":")[0] for entry in entries(memory)} == {"Anna", "Ben"}
    assert all(entry.corrects is None and entry.rests_on == "stated" for entry in entries(memory))
    memory, _system = await observe(
        parts, "m2a", [("Anna", "I play the cello."), ("Ben", "Forget that I play the cello.")]
    )
    assert [entry.text for entry in entries(memory)] == ["Anna: I play the cello."], (
        "what Anna told is not Ben's to forget"
    )
    talk = [("user", "My dog is called Bobo."), ("assistant", "My favourite dog is called Rex.")]
    memory, _system = await observe(parts, "m2a", talk, assistant="assistant")
    assert [entry.text for entry in entries(memory)] == ["My dog is called Bobo."]
