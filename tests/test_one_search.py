"""Entries and messages in one ranking: what takes a place, what takes none, and what never comes back."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from m2a import Assistant
from m2a.memory.attribution import Attribution
from m2a.memory.database import Database
from m2a.memory.index import MemoryIndex
from m2a.memory.owners import owner_named
from m2a.memory.places import Place, is_echo, only_asks, places
from m2a.settings import load_settings
from m2a.types import (
    EntryDraft,
    EvidenceRange,
    Hit,
    MemorySearched,
    Message,
    Query,
    QueryMemory,
    RecordKey,
    Role,
    SearchSemanticMemories,
    Supersession,
)
from tests.retrieval_memory import Memory as Retrieved
from tests.retrieval_memory import memory_in
from tests.scripted_policy import ScriptedPolicy
from tests.told_memory import Memory
from tests.turns import Clock, turn

NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)
BOTH = ("entry", "message")


def entry(number: int) -> RecordKey:
    return RecordKey("entry", number)


def key(number: int) -> RecordKey:
    return RecordKey("message", number)


def message(text: str, role: Role = "user", number: int = 5, photos: tuple[str, ...] = ()) -> Message:
    return Message(number, "owner", "chat", role, role, text, photos, NOW)


def in_order(*keys: RecordKey) -> list[tuple[RecordKey, float]]:
    return [(key, 1 / rank) for rank, key in enumerate(keys, start=1)]


def test_an_entry_and_its_evidence_take_one_place_at_the_better_rank() -> None:
    evidence = {7: [EvidenceRange(1, 2)], 8: [EvidenceRange(2, 2)]}
    ranked = in_order(key(3), key(1), entry(7), key(2), entry(8))
    assert [*places(ranked, evidence)] == [
        Place(key(3), 1),
        Place(entry(7), 1 / 2, (1,)),  # 2 stands below it: its words matched less than the entry's
        Place(entry(8), 1 / 5),
    ]
    assert [place.key for place in places(in_order(entry(7), key(1)), evidence)] == [entry(7)]


def test_a_message_goes_with_the_best_of_the_entries_that_rest_on_it() -> None:
    evidence = {7: [EvidenceRange(1, 1)], 8: [EvidenceRange(1, 1)]}
    assert [*places(in_order(key(1), entry(8), entry(7)), evidence)] == [
        Place(entry(8), 1, (1,)),
        Place(entry(7), 1 / 3),
    ]
    # An entry that was not found stands for nothing.
    assert [*places(in_order(key(1)), evidence)] == [Place(key(1), 1)]


@pytest.mark.parametrize(
    "text",
    [
        "Where is my key?",
        "where is my key",
        "what's the code of the garage",
        "Hi! Where did we eat?"[4:],
        "Who is this? And where was it? 🙂",
        "你叫什么名字？",
        "¿Dónde está mi llave?",
    ],
)
def test_questions_only_ask(text: str) -> None:
    assert only_asks(message(text))
    assert not only_asks(message(text, photos=("photo",)))


@pytest.mark.parametrize(
    "text",
    [
        "My key is under the mat. Where is yours?",
        "Did I tell you that my sister Anna moved to Oslo?",
        "Do you remember my dog Bobo?",
        "I'm vegan, what can I eat?",
        "You are good at chess, why did you stop?",
        "How about a walk by the lake?",
        "What I did on Sunday: I swam.",
        "When I was six I lived in Linz",
        "Nothing",
        "",
    ],
)
def test_what_tells_something_does_not_only_ask(text: str) -> None:
    assert not only_asks(message(text))


def test_the_assistant_that_repeats_is_an_echo_of_what_was_said_before_it() -> None:
    fact = message("My sister Anna moved to Oslo in May.", number=1)
    echo = message("On 5 May you told me: My sister Anna moved to Oslo in May.", "assistant", 4)
    assert is_echo(message("Your sister Anna moved to Oslo in May.", "assistant", 4), [fact])
    assert is_echo(echo, [fact])
    assert is_echo(replace(echo, text="Your sister Anna moved to Oslo. Got it!"), [fact])
    assert not is_echo(message("Oslo has a fine museum of ships by the fjord.", "assistant", 4), [fact])
    assert not is_echo(message("Your sister Anna moved to Oslo in May.", "assistant", 1), [replace(fact, message_id=4)])
    assert not is_echo(message("My sister Anna moved to Oslo in May.", "user", 4), [fact])


@pytest.fixture(scope="module", params=["paper", "best"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Retrieved]:
    with memory_in(tmp_path_factory.mktemp("both"), best=request.param == "best") as memory:
        yield memory


def write(memory: Retrieved, owner: str, text: str, *message_ids: int) -> int:
    draft = EntryDraft(text, tuple(EvidenceRange(number, number) for number in message_ids))
    with memory.database.write(owner) as unit:
        return memory.semantic.add(unit, draft, Attribution("test", "test", NOW)).memory_id


def keys(hits: list[Hit]) -> list[RecordKey]:
    return [hit.key for hit in hits]


def test_both_layers_are_searched_in_one_ranking(memory: Retrieved) -> None:
    owner = owner_named(memory.database, "both")
    kept = memory.say(owner, "We bought a canoe, and the shop gave us a red life vest for free")
    alone = memory.say(owner, "The canoe needs a new seat")
    question = memory.say(owner, "Where is the canoe?")
    written = write(memory, owner, "Anna bought a canoe", kept)
    hits = memory.search(owner, "canoe", kinds=BOTH)
    assert set(keys(hits)) == {entry(written), key(alone)}
    [hit] = [hit for hit in memory.search(owner, "the red life vest", kinds=BOTH) if hit.key == entry(written)]
    # What the question matches is in the message, so that it comes with its entry.
    assert [message.message_id for message in hit.evidence] == [kept]
    assert key(question) in keys(memory.search(owner, "canoe", kinds=("message",)))
    assert {hit.key.kind for hit in memory.search(owner, "canoe", kinds=("entry",))} == {"entry"}


def test_the_current_message_and_later_ones_are_not_found(memory: Retrieved) -> None:
    owner = owner_named(memory.database, "current")
    earlier, current = memory.say(owner, "The canoe is green"), memory.say(owner, "Tell me about the green canoe.")
    later = memory.say(owner, "The canoe was green")
    memory.indexer.drain(owner)
    hits = memory.retriever.search(owner, Query("green canoe"), BOTH, before=current)
    assert keys(hits) == [key(earlier)]
    assert set(keys(memory.retriever.search(owner, Query("green canoe"), BOTH))) >= {key(earlier), key(later)}


def test_searches_side_by_side_find_what_each_finds(memory: Retrieved) -> None:
    owner = owner_named(memory.database, "side by side")
    photo = memory.show(owner, "red")
    for number in range(30):
        message = memory.say(owner, f"Canoe {number} lies by the lake", (photo,) if number == 7 else ())
        write(memory, owner, f"Kayak {number} lies in the shed", message)
    queries = [Query("canoe 7"), Query("the shed"), Query("", (photo,)), Query("kayak", (photo,)), Query("canoe 7")]
    memory.indexer.drain(owner)
    together = memory.retriever.search_all(owner, queries, BOTH, 5)
    assert together == [memory.retriever.search(owner, query, BOTH, 5) for query in queries]
    assert all(together) and memory.retriever.search_all(owner, [], BOTH) == []


def test_a_place_that_one_message_loses_goes_to_the_next(memory: Retrieved) -> None:
    owner = owner_named(memory.database, "next")
    questions = [memory.say(owner, f"Where is canoe number {number}?") for number in range(12)]
    message = memory.say(owner, "One canoe is in the shed by the lake, beside two kayaks and an old boat")
    hits = memory.search(owner, "canoe number", kinds=BOTH, k=3)
    if memory.best:  # as published, the ten best of each path are all that there is
        assert keys(hits) == [key(message)]
    assert not set(keys(hits)) & {key(number) for number in questions}


@pytest.fixture
def bank_memory(database: Database, owner: str, tmp_path: Path, index: MemoryIndex) -> Memory:
    return Memory(database, owner, tmp_path, index)


def test_echoes_forgotten_words_and_superseded_entries_take_no_place(bank_memory: Memory) -> None:
    memory = bank_memory
    pin = memory.tell("My bank PIN is 4471.", reply="Your bank PIN is 4471.")
    lisbon = memory.tell("My brother lives in Lisbon.", reply="Your brother lives in Lisbon.")
    hits = memory.bank.search(Query("brother Lisbon"), BOTH)
    assert keys(hits)[0] == entry(lisbon.memory_id)
    assert all(
        isinstance(hit.key, RecordKey) and hit.key.kind == "entry" for hit in hits if "Lisbon" in hit.record.text
    )
    porto = memory.tell("My brother lives in Porto now.", reply="Noted.")
    memory.bank.write([Supersession(lisbon.memory_id, porto.memory_id, "moved")], who="test")
    assert entry(lisbon.memory_id) not in keys(memory.bank.search(Query("brother lives"), BOTH))
    memory.bank.delete(pin.memory_id, who="test", why="asked to")
    pin_hits = memory.bank.search(Query("bank PIN 4471"), BOTH)
    assert "4471" not in " ".join(hit.record.text for hit in pin_hits)


@pytest.mark.parametrize("searches_messages", [True, False])
async def test_a_policy_searches_both_layers_before_its_message_in_the_stages_that_it_names(
    tmp_path: Path, searches_messages: bool
) -> None:
    policy = ScriptedPolicy()
    policy.searches_messages_in = frozenset({"manage query"} if searches_messages else {"manage update"})
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock()) as assistant:
        events = await turn(assistant, "The canoe is green and lies in the shed.")
        policy.steps |= {
            "query": [QueryMemory(query="canoe")],
            "manage query": [SearchSemanticMemories(query="Which colour has the green canoe in the shed?")],
        }
        events = await turn(assistant, "I wonder which colour the canoe in the shed has.")
    [searched] = [event for event in events if isinstance(event, MemorySearched)]
    found_keys = keys(list(searched.hits))
    assert found_keys[:1] == ([key(1)] if searches_messages else []) and key(3) not in found_keys
    assert key(2) not in found_keys  # the assistant's, which this policy does not quote
