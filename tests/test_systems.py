"""Every memory system on a small dialogue: what it remembers, finds, shows to the model, and leaves as it was."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncGenerator, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from m2a.agents.offline import OfflineRules
from m2a.agents.offline.relevance import Match, is_sure
from m2a.agents.state import TurnState
from m2a.systems import registry
from m2a.systems.evaluated_bank import EvaluatedBank, QuestionBank
from m2a.systems.shared import Parts, SharedStores, Utterance
from m2a.systems.system import Meter, Question
from m2a.types import (
    AddMemory,
    EvidenceRange,
    Hit,
    MemoryEntry,
    Message,
    Query,
    RecordKind,
    SearchSemanticMemories,
)
from m2a.wiring import cache_dir
from models.abilities import Abilities, Probe
from models.chat_model import REPLY_TOKENS, ChatMessage, TokenUsage, Tool, ToolCall
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.chat_server import ChatServer, say
from tests.dialogues import model_of, parts_of, parts_on
from tests.encoders import RecordingEncoder
from tests.placed_systems import NOW, Place, choose, told
from tests.scripted_model import Prompt, ScriptedModel


@pytest.fixture(scope="module")
def retrieval(stores: SharedStores) -> Parts:
    return parts_on(stores, retrieval_only=True)


@pytest.fixture
def unused(tmp_path: Path) -> Iterator[Parts]:
    """Parts that no other test uses."""
    parts = parts_of(retrieval_only=True)(tmp_path / "work")
    yield parts
    parts.stores.close()


@pytest.mark.parametrize("name", ["m2a", "m2a-paper", "m2a-dense-only", "rag", "bm25", "hybrid"])
async def test_turns_are_found_by_their_words(tmp_path: Path, retrieval: Parts, name: str) -> None:
    here = await told(tmp_path / "data", name, retrieval)
    assert (await here.found("Where is the pottery course?"))[0] in ("D2:2", "D1:4")
    assert (await here.found("Who moved to Lisbon?"))[0] == "D2:1"
    assert len(await here.found("pottery course", k=1)) == 1


async def test_a_word_that_half_of_all_turns_hold_finds_them(tmp_path: Path, retrieval: Parts) -> None:
    memory = retrieval.stores.fresh_memory("bm25")
    system = await registry.open_system("bm25", memory, retrieval)
    await system.observe(
        memory.record([Utterance(text, "user", "Ann", text, NOW) for text in ("A canoe.", "A parrot.")])
    )
    question = Question("Which parrot?", NOW)
    assert await system.retrieve(question, 5) == [2]


async def test_hybrid_search_prefers_what_vectors_and_words_both_find(tmp_path: Path, retrieval: Parts) -> None:
    rankings = {}
    for name in ("rag", "bm25", "hybrid"):
        rankings[name] = await (await told(tmp_path / "data", name, retrieval)).found(
            "Who takes the pottery course in Lisbon?"
        )
    both = set(rankings["rag"]) & set(rankings["bm25"])
    assert set(rankings["hybrid"][: len(both)]) <= both | {rankings["rag"][0], rankings["bm25"][0]}
    assert set(rankings["hybrid"]) == set(rankings["rag"]) | set(rankings["bm25"])


async def test_a_turn_is_found_by_a_photo_like_the_one_it_shows(tmp_path: Path, retrieval: Parts) -> None:
    here = await told(tmp_path / "data", "m2a", retrieval, photos=True)
    question_photo = tmp_path / "data" / "photos" / "asked.png"
    assert (await here.found("", question_photo)) == ["D1:3"]
    assert "D1:3" in await here.found("red")


@pytest.mark.parametrize("name", ["engram-offline-photos", "gam-offline-photos", "hymem-offline-photos"])
async def test_what_the_photo_path_finds_comes_first_where_rules_took_in(
    tmp_path: Path, retrieval: Parts, name: str
) -> None:
    here = await told(tmp_path / "data", name, retrieval, photos=True)
    hits = await here.found("", tmp_path / "data" / "photos" / "asked.png")
    assert hits.index("D1:3") < hits.index("D2:1")  # without the photo path, gam and hymem find the other session first


async def test_memories_are_apart_and_vectors_are_shared(tmp_path: Path, unused: Parts) -> None:
    first = await told(tmp_path / "data", "m2a", unused)
    encoded = unused.stores.encoded
    second = await told(tmp_path / "data", "rag", unused)
    assert unused.stores.encoded == encoded == 6
    assert first.memory.owner != second.memory.owner
    assert [m.reference for m in first.memory.messages()] == [m.reference for m in second.memory.messages()]
    first.memory.remove_from_index()
    assert await first.found("Lisbon") == []
    assert (await second.found("Lisbon"))[0] == "D2:1"


async def test_a_system_opened_again_knows_what_it_took_in(tmp_path: Path, unused: Parts) -> None:
    for name in ("m2a", "rag", "bm25", "hybrid"):
        here = await told(tmp_path / "data", name, unused)
        before = await here.found("Who moved to Lisbon?")
        reopened = await registry.open_system(name, unused.stores.memory(here.memory.owner), unused)
        assert (
            await Place(unused, here.memory, reopened, here.memory.messages()).found("Who moved to Lisbon?") == before
        )


async def test_a_memory_opened_again_is_indexed_for_the_ranking_of_its_system(tmp_path: Path, unused: Parts) -> None:
    here = await told(tmp_path / "data", "rag", unused)
    folder = unused.stores.folder / "memory.db"

    def ranked(owner: str) -> int:
        with sqlite3.connect(folder) as database:
            row = database.execute("SELECT count(*) FROM ranked_record WHERE owner = ?", (owner,)).fetchone()
            return int(row[0])

    assert ranked(here.memory.owner) == 0
    here.memory.remove_from_index()
    memory = unused.stores.memory(here.memory.owner)
    await registry.open_system("m2a", memory, unused)
    assert memory.fusion == "best" and ranked(memory.owner) == 6


async def test_m2a_asks_once_for_an_exchange_and_once_for_an_answer(tmp_path: Path) -> None:
    with ChatServer(ScriptedModel(choose, lambda prompt: "Lisbon")) as server:
        parts = parts_of(model_of(server))(tmp_path / "work")
        here = await told(tmp_path / "data", "m2a", parts)
        stages = [Prompt.of(request.json).stage for request in server.requests]
        assert stages == ["manage update", "consent"] * 3
        assert here.rows()["entry"] == 3

        answer = await here.answer("Who moved to Lisbon?")
        assert answer.text == "Lisbon" and answer.usage.calls == 1 and answer.context_tokens > 0
        assert here.references[answer.sources[0]] == "D2:1"
        parts.stores.close()


async def test_m2a_as_published_updates_once_per_exchange_and_answers_without_a_trace(tmp_path: Path) -> None:
    with ChatServer(ScriptedModel(choose, lambda prompt: "Lisbon")) as server:
        parts = parts_of(model_of(server))(tmp_path / "work")
        here = await told(tmp_path / "data", "m2a-paper", parts)
        prompts = [Prompt.of(request.json) for request in server.requests]
        updates = [prompt for prompt in prompts if prompt.stage == "update"]
        assert len(updates) == 3
        assert not [prompt for prompt in prompts if prompt.stage in ("query", "generate")]
        assert (
            "Anna (message 1): I bought a canoe" in updates[0].said and "Ben (message 2): My parrot" in updates[0].said
        )
        assert "user (Ben)" in updates[1].material and "assistant" not in updates[1].material
        assert here.system.ingestion.calls == len(server.requests)
        before = here.rows()
        assert before["entry"] == 3

        answer = await here.answer("Who moved to Lisbon?")
        assert answer.text == "Lisbon"
        assert [here.references[source] for source in answer.sources][:2] == ["D2:1", "D2:2"]
        assert answer.usage.calls == len(server.requests) - here.system.ingestion.calls
        assert answer.context_tokens > 0 and 0 < answer.search_seconds < answer.seconds
        assert (await here.found("Who moved to Lisbon?"))[:2] == ["D2:1", "D2:2"]
        assert here.rows() == before
        parts.stores.close()


async def test_without_a_model_the_rules_remember_who_said_it(tmp_path: Path, stores: SharedStores) -> None:
    parts = parts_on(stores)
    here = await told(tmp_path / "data", "m2a", parts)
    answer = await here.answer("When did Anna buy a canoe?")
    assert "canoe" in answer.text and "7 May 2023" in answer.text
    assert answer.usage.calls == 0 and here.references[answer.sources[0]] == "D1:1"


async def test_a_session_is_encoded_at_once_with_only_what_the_rules_read(stores: SharedStores) -> None:
    pages = [f"Page {number} of my diary is about the garden." for number in range(60)]
    long = " ".join(pages)
    turns = [
        ("user", "Guess what? I got the job at the library! My sister Olga moved to Lisbon."),
        ("assistant", "Congratulations! Lisbon is a lovely city. I hope that Olga likes it there."),
        ("user", "Ich habe gestern einen neuen Hund bekommen und er heißt Bruno."),
        ("user", "That's great. I bought a canoe at the lake."),
        ("assistant", "A canoe is a good companion. Where do you keep it?"),
        ("user", long),
        ("user", "Forget what I said about the canoe."),
        ("user", "Where does Olga live?"),
    ]
    encoder = RecordingEncoder(load_text_encoder(MINILM, cache_dir()))
    rules = OfflineRules(encoder)
    memory = stores.fresh_memory("m2a")
    system = await registry.open_system("m2a", memory, replace(parts_on(stores), rules=lambda: rules))
    lines = [Utterance(f"D1:{n}", role, role, text, NOW) for n, (role, text) in enumerate(turns, start=1)]
    await system.observe(memory.record(lines))
    ahead, *later = encoder.calls
    assert ahead == [
        "I got the job at the library! My sister Olga moved to Lisbon.",
        "I got the job at the library!",
        "My sister Olga moved to Lisbon.",
        "That's great. I bought a canoe at the lake.",
        "That's great.",
        "I bought a canoe at the lake.",
        long[:2000],
        *pages,
        "Forget what I said about the canoe.",
        "Where does Olga live?",
    ]
    assert sum(map(len, later)) <= 3, "what is said in other words to be written or found"


@pytest.mark.parametrize(
    "text",
    [
        "Forget about the canoe!",
        "Never mind the canoe, forget I said anything.",
        "Please delete what I told you about the canoe.",
    ],
)
async def test_what_two_people_say_to_each_other_asks_nothing_of_the_memory(stores: SharedStores, text: str) -> None:
    kept = await remembered_entries(stores, ("Anna", "I bought a canoe."), ("Ben", "Was it dear?"), ("Anna", text))
    assert "Anna: I bought a canoe." in [entry.text for entry in kept]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("I live in Porto.", "I live in Bergen now."),
        ("My sister's train leaves at 9:25.", "Actually, my sister's train leaves at 9:40."),
        ("My rent is 850 euros.", "My rent is 700 euros now."),
    ],
)
async def test_nobody_corrects_what_the_other_told(stores: SharedStores, first: str, second: str) -> None:
    both = await remembered_entries(stores, ("Anna", first), ("Ben", second))
    assert len(both) == 2 and both[0].text == f"Anna: {first}" and both[1].corrects is None


async def test_one_corrects_oneself_where_two_talk(stores: SharedStores) -> None:
    kept = await remembered_entries(
        stores,
        ("Anna", "My sister's train leaves at 9:25."),
        ("Ben", "My train leaves at 10:15."),
        ("Anna", "No, sorry, my sister's train leaves at 9:40, not at 9:25."),
    )
    by_text = {entry.text: entry for entry in kept}
    correction = by_text["Anna: My sister's train leaves at 9:40, not at 9:25."]
    assert correction.corrects == by_text["Anna: My sister's train leaves at 9:25."].memory_id
    assert by_text["Ben: My train leaves at 10:15."].corrects is None


@pytest.mark.parametrize(
    ("annas", "bens", "question", "right", "wrong"),
    [
        ("My sister is called Olga.", "My sister is called Ida.", "What is Ben's sister called?", "Ida", "Olga"),
        ("I work as a nurse.", "I work as a potter.", "What does Anna work as?", "nurse", "potter"),
        (
            "My favourite tea is oolong.",
            "My favourite tea is sencha.",
            "What is Ben's favourite tea?",
            "sencha",
            "oolong",
        ),
    ],
)
async def test_who_is_asked_of_told_it(
    stores: SharedStores, annas: str, bens: str, question: str, right: str, wrong: str
) -> None:
    parts = parts_on(stores)
    memory = parts.stores.fresh_memory("m2a")
    system = await registry.open_system("m2a", memory, parts)
    lines = [("Anna", annas), ("Ben", bens)]
    turns = [Utterance(f"D1:{n}", "user", speaker, text, NOW) for n, (speaker, text) in enumerate(lines, start=1)]
    await system.observe(memory.record(turns))
    reply = (await system.answer(Question(question, NOW), Meter())).text
    assert right in reply and wrong not in reply
    assert re.search(r"\bAnna said\b" if right in annas else r"\bBen said\b", reply) and "you" not in reply


async def test_what_was_said_beside_the_words_of_the_question_is_told_first(stores: SharedStores) -> None:
    parts = parts_on(stores)
    memory = parts.stores.fresh_memory("m2a")
    system = await registry.open_system("m2a", memory, parts)
    lines = [
        ("Anna", "I hung a picture of my grandmother in the hall."),
        ("Ben", "My parrot learned to whistle."),
        ("Anna", "The course begins on Monday."),
        ("Ben", "Where did you take that lovely picture of the seals?"),
        ("Anna", "At the lighthouse, from the cliff."),
        ("Ben", "I repaired my bike."),
    ]
    turns = [Utterance(f"D1:{n}", "user", speaker, text, NOW) for n, (speaker, text) in enumerate(lines, start=1)]
    await system.observe(memory.record(turns))
    reply = (await system.answer(Question("Where did Anna take the picture of the seals?", NOW), Meter())).text
    assert reply.index("lighthouse") < reply.index("grandmother")


async def test_where_two_talk_memories_are_searched_only_for_what_one_takes_back(stores: SharedStores) -> None:
    rules = parts_on(stores).rules()
    for text, first in (
        ("I bought a canoe.", AddMemory),
        ("No, sorry, I bought a kayak.", SearchSemanticMemories),
        ("No worries, I have a second paddle.", AddMemory),
        ("No doubt the lake freezes in March.", AddMemory),
        ("Oh, no problem, my brother drives me on Fridays.", AddMemory),
        ("I sail on Fridays, not on Thursdays.", SearchSemanticMemories),
    ):
        message = Message(1, "owner", "conversation", "user", "Anna", text, (), NOW)
        state = TurnState("manage update", NOW, message, rounds_left=9, people=("Anna", "Ben"))
        assert isinstance((await rules.decide(state)).action, first)


@pytest.mark.parametrize(
    ("text", "place", "answers"),
    [("Ben: I sail on Fridays.", 2, True), ("Ben: I sail on Fridays.", 3, False), ("I sail on Fridays.", 3, True)],
)
def test_what_one_of_several_people_said_answers_only_if_the_search_puts_it_among_its_first(
    text: str, place: int, answers: bool
) -> None:
    entry = MemoryEntry(1, "owner", 1, "fact", text, "", (), (EvidenceRange(1, 1),), (), NOW)
    assert is_sure([Match((entry,), 0.9, 0.6, place)]) is answers


async def remembered_entries(stores: SharedStores, *turns: tuple[str, str]) -> list[MemoryEntry]:
    """Returns the entries that the rules remember of a conversation, oldest first."""
    parts = parts_on(stores)
    memory = parts.stores.fresh_memory("m2a")
    system = await registry.open_system("m2a", memory, parts)
    utterances = [Utterance(f"D1:{n}", "user", speaker, text, NOW) for n, (speaker, text) in enumerate(turns, start=1)]
    await system.observe(memory.record(utterances))
    with parts.stores.database.read(memory.owner) as unit:
        entries = parts.stores.semantic.all(unit)
    return entries


class SilentModel:
    """Remembers nothing, and never says what to look for."""

    name = "silent"
    reply_tokens = REPLY_TOKENS
    sees_photos = False

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        if "finish" in [tool.name for tool in tools]:
            return ToolCall("finish", {}, TokenUsage())
        self.asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | TokenUsage, None]:
        yield "never said"

    async def abilities(self, probe: tuple[Probe, ...] = ()) -> Abilities:
        return Abilities(sees_photos=False)


async def test_half_an_answer_is_none(tmp_path: Path, stores: SharedStores) -> None:
    model = SilentModel()
    parts = parts_on(stores, model)
    here = await told(tmp_path / "data", "m2a-paper", parts)
    answering = asyncio.create_task(here.answer("Who moved to Lisbon?"))
    async with asyncio.timeout(30):
        await model.asked.wait()
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering


@pytest.mark.parametrize("kind", [EvaluatedBank, QuestionBank])
async def test_whoever_judges_every_hit_is_not_held_to_the_floor(
    tmp_path: Path, retrieval: Parts, kind: type[EvaluatedBank]
) -> None:
    here = await told(tmp_path / "data", "m2a", retrieval)
    retriever = here.parts.stores.retrieval("best").retriever
    floors: list[bool] = []

    def search(
        owner: str,
        query: Query,
        kinds: Collection[RecordKind],
        k: int,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
        within: Collection[int] | None = None,
    ) -> list[Hit]:
        floors.append(relevance_floor)
        return retriever.search(owner, query, kinds, k, relevance_floor=relevance_floor, before=before, within=within)

    bank = kind(here.memory.owner, here.memory.stores(), lambda: NOW, search, searched=["message"], last_message=6)
    assert bank.search(Query("Lisbon"), {"message"})
    assert bank.search(Query("Lisbon"), {"message"}, relevance_floor=False)
    assert floors == [True, False]


@pytest.mark.parametrize("kind", [EvaluatedBank, QuestionBank])
@pytest.mark.parametrize("last", [0, 4])
async def test_a_bank_ends_with_its_last_message(
    tmp_path: Path, retrieval: Parts, kind: type[EvaluatedBank], last: int
) -> None:
    here = await told(tmp_path / "data", "m2a", retrieval)
    stores, search = here.memory.stores(), here.parts.stores.dense
    bank = kind(here.memory.owner, stores, lambda: NOW, search, searched=["message"], last_message=last)
    everything = EvidenceRange(1, 6)
    first_day = here.memory.messages()[0].said_at
    for messages in (
        bank.messages(range(1, 7)).values(),
        bank.messages_in_ranges([everything]),
        bank.messages_between(first_day.date(), NOW.date()),
    ):
        assert [message.message_id for message in messages] == list(range(1, last + 1))
    assert bank.find_messages("Lisbon Bristol") == []  # said in the last two


async def test_rag_passes_on_the_photos_of_what_it_found(tmp_path: Path, stores: SharedStores) -> None:
    with ChatServer(say("in its shed")) as server:
        parts = parts_on(stores, model_of(server))
        here = await told(tmp_path / "data", "rag", parts, photos=True)
        answer = await here.answer("Where is the canoe?")
        assert len(server.requests[-1].photos) == 1
        assert len(answer.sources) == 5 and answer.text == "in its shed"
        assert "Monday 8 May 2023, 13:56, Anna: Here is the canoe" in server.requests[-1].text


async def test_full_context_shows_the_newest_turns_that_fit(tmp_path: Path, stores: SharedStores) -> None:
    with ChatServer(say("Bristol")) as server:
        whole = parts_on(stores, model_of(server))
        answer = await (here := await told(tmp_path / "data", "full-context", whole)).answer("Where?")
        assert len(answer.sources) == 6 and await here.system.retrieve(here.question("Where?"), 10) is None
        cut = parts_on(stores, model_of(server), window=45)
        answer = await (here := await told(tmp_path / "data", "full-context", cut)).answer("Where?")
        assert [here.references[source] for source in answer.sources] == ["D2:1", "D2:2"]
        assert answer.trace[0] == {"turns": 2, "left out": 4}


def test_an_ablation_differs_from_the_system_of_the_paper_in_the_one_thing_it_is_named_for() -> None:
    full = registry.settings_of("m2a-paper")

    def changed(name: str) -> set[str]:
        return {key for key, value in registry.settings_of(name).items() if value != full[key]} - {"needs_agents"}

    assert changed("m2a-semantic-only") == {"raw_messages"}
    assert changed("m2a-single-retrieval") == {"max_queries", "query_rounds"}
    assert changed("m2a-dense-only") == {"paths"}
    assert changed("m2a-context-0") == changed("m2a-context-20") == {"context_turns"} and not changed("m2a-context-5")
    assert changed("m2a") == {"fusion", "relevance_floor", "published_stages", "searched"}


@pytest.mark.parametrize(
    ("names", "retrieval_only", "has_model", "reason"),
    [
        (("rag", "mem1"), True, False, "There is no system 'mem1'"),
        (("rag", "rag"), True, False, "named twice"),
        (("full-context",), True, False, "retrieves nothing"),
        (("full-context",), False, False, "needs a chat model"),
        (("m2a-context-0",), True, False, "only in how agents answer"),
    ],
)
def test_what_cannot_be_run_is_refused_in_a_sentence(
    names: tuple[str, ...], retrieval_only: bool, has_model: bool, reason: str
) -> None:
    with pytest.raises(registry.UnknownSystemError, match=reason):
        registry.check(names, retrieval_only=retrieval_only, has_model=has_model)
