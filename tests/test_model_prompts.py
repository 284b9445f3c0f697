"""What a chat model is sent over whole turns: steps as tool calls, a stable beginning, one budget, captions for the blind."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from m2a.agents.budget import tokens_of
from m2a.agents.consent_prompt import TOOL
from m2a.agents.found_lines import NOTHING_NEAR, TOGETHER
from m2a.agents.state import SEARCH_HITS
from m2a.types import (
    Addition,
    EntryDraft,
    EvidenceRange,
    Failed,
    MemoryChanged,
    MemorySearched,
    NotKept,
    Pinning,
    ReplyFinished,
)
from tests.chat_server import Reply, say
from tests.drawings import draw_teapot
from tests.model_talk import Begin, keep, keep_and_find, talk, talks
from tests.opened_folder import jpeg
from tests.scripted_model import Call, Prompt, ScriptedModel, accept_all

pytestmark = pytest.mark.asyncio(loop_scope="module")  # the assistant is the module's


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def begin(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Begin]:
    async with talks(tmp_path_factory.mktemp("data")) as begin:
        yield begin


def searches(*words: str) -> list[tuple[str, dict[str, Any]]]:
    return [("search_semantic_memories", {"query": word}) for word in words]


async def test_what_the_message_finds_is_enough_for_a_reply_in_one_call(begin: Begin) -> None:
    chat = begin(ScriptedModel(keep_and_find, lambda prompt: "His ball."))
    await chat.say("My dog Bobo loves his ball.")
    assert [Prompt.of(r.json).stage for r in chat.server.requests] == ["generate", "manage update", "consent"]
    chat.conversation = None
    await chat.say("What does Bobo love?")
    assert [Prompt.of(r.json).stage for r in chat.server.requests] == ["generate", "manage update"]
    [reply] = chat.prompts("generate")
    assert "My dog Bobo loves his ball." in Prompt.of(reply.json).material


async def test_words_that_stand_in_the_conversation_are_not_told_a_second_time(begin: Begin) -> None:
    chat = begin(ScriptedModel(keep_and_find, lambda prompt: "His ball."))
    await chat.say("My dog Bobo loves his ball.")
    await chat.say("What does Bobo love?")
    [reply] = chat.prompts("generate")
    text = Prompt.of(reply.json).material
    assert "Original messages" not in text and text.count("My dog Bobo loves his ball.") == 1, "the memory alone"


async def test_a_reply_may_be_preceded_by_searches_in_order_and_keeps_what_was_said_before_them(begin: Begin) -> None:
    single = ScriptedModel(keep_and_find, lambda prompt: "His ball.")

    def script(request: dict[str, Any]) -> Reply:
        if (
            Prompt.of(request).stage == "generate"
            and "toy?" in json.dumps(request)
            and "tool_calls" not in str(request)
        ):
            return Reply(
                text="Let me see.", tool_calls=(*searches("Bobo", "ball"), ("fetch_raw_messages", {"ranges": 3}))
            )
        return single(request)

    chat = begin(script)
    await chat.say("My dog Bobo loves his ball.")
    chat.conversation = None
    events = await chat.say("What was his toy?")
    searched = [e.query.text for e in events if isinstance(e, MemorySearched)]
    assert searched == ["What was his toy?", "Bobo", "ball"]
    _first, second = chat.prompts("generate")
    called = [m["tool_calls"][0] for m in second.json["messages"] if m.get("tool_calls")]
    results = [m for m in second.json["messages"] if m["role"] == "tool"]
    assert [call["function"]["name"] for call in called] == ["search_semantic_memories"] * 2
    assert [call["id"] for call in called] == [result["tool_call_id"] for result in results]
    assert "SearchSemanticMemories" not in json.dumps(second.json) and "ranges" in second.text
    [finished] = [e for e in events if isinstance(e, ReplyFinished)]
    assert finished.message.text == "Let me see.\n\nHis ball."
    assert not [e for e in events if isinstance(e, Failed)]


async def test_a_model_whose_call_was_refused_is_told_that_it_may_as_well_reply(begin: Begin) -> None:
    def script(request: dict[str, Any]) -> Reply:
        if Prompt.of(request).stage == "generate" and "write your reply, which takes no call" in json.dumps(request):
            return say("Nothing, as far as I know.")
        return Reply(tool_calls=(("finish", {}),))

    chat = begin(script)
    events = await chat.say("What does Bobo love?")
    [finished] = [e for e in events if isinstance(e, ReplyFinished)]
    assert finished.message.text == "Nothing, as far as I know." and len(chat.prompts("generate")) == 2


async def test_a_memory_is_told_once_in_a_prompt(begin: Begin) -> None:
    def script(prompt: Prompt) -> Call:
        if prompt.stage != "manage update" or "always" not in prompt.said:
            return "finish", {}
        return "add_memory", {**keep(prompt)[1], "kind": "preference"}

    wish = "Please always answer in short sentences."
    chat = begin(ScriptedModel(script, lambda prompt: "Fine."))
    await chat.say(wish)
    await chat.say("I had soup for lunch.")
    [update] = chat.prompts("manage update")
    changed = next(b for b in Prompt.of(update.json).blocks if b.title == "What was changed last in the memory")
    assert changed.body == f"added: memory 1, “{wish}”"
    chat.conversation = None
    await chat.say("Which answers, in short sentences, did I ask for?")
    [reply] = chat.prompts("generate")
    assert Prompt.of(reply.json).material.count('{"memory_id": 1') == 1


async def test_what_both_writing_tools_take_is_described_once(begin: Begin) -> None:
    chat = begin(ScriptedModel(keep_and_find, lambda prompt: "Fine."))
    await chat.say("My dog Bobo loves his ball.")
    tools = {tool["function"]["name"]: tool["function"] for tool in chat.prompts("manage update")[0].json["tools"]}
    added, replaced = (tools[name]["parameters"]["properties"] for name in ("add_memory", "replace_memory"))
    assert set(added) < set(replaced) and added["photos"]["type"] == replaced["photos"]["type"] == "array"
    described = {name for name, field in replaced.items() if "description" in field}
    assert "description" in added["photos"] and not described & set(added)
    assert "those of add_memory" in tools["replace_memory"]["description"]
    text = json.dumps(list(tools.values()))
    assert not [key for key in ("title", "default", "$ref", "$defs", "anyOf", "prefixItems") if f'"{key}"' in text]
    assert '"missing"' in text and '"memory_ids"' not in text, "what a query ends with is no matter of an update"


async def test_a_photo_stays_in_view_by_its_number_and_comes_back_with_a_fetched_message(
    begin: Begin, tmp_path: Path
) -> None:
    single = ScriptedModel(keep_and_find, lambda prompt: "A teapot.")

    def script(request: dict[str, Any]) -> Reply:
        asks = Prompt.of(request).stage == "generate" and "first day" in json.dumps(request)
        if asks and "tool_calls" not in json.dumps(request):
            return Reply(tool_calls=(("fetch_raw_messages", {"ranges": [[1, 1]]}),))
        return single(request)

    chat = begin(script)
    await chat.say("Look what I made", draw_teapot(tmp_path / "one.png", 1))
    bank = chat.assistant.memory(chat.assistant.local_owner)
    [photo_id] = bank.messages([1])[1].photos
    await chat.say("Is it straight?")
    [reply] = chat.prompts("generate")
    assert len(reply.photos) == 1 and "Photo 1, from message 1" in reply.text
    assert "Look what I made (with photo 1)" in reply.text
    bank.photos.set_caption(photo_id, "a blue teapot on a table")
    chat.conversation = None
    await chat.say("What did I show you on the first day?")
    first, second = chat.prompts("generate")
    assert "with photo 1 (“a blue teapot on a table”): Look what I made" in second.text
    assert len(second.photos) == 1 >= len(first.photos)


async def test_a_photo_keeps_its_number_as_a_picture_and_then_as_a_caption(tmp_path: Path) -> None:
    def script(prompt: Prompt) -> Call:
        if prompt.stage != "manage update" or "aunt" not in prompt.said:
            return "finish", {}
        return "add_memory", {**keep(prompt)[1], "photos": [2]}

    pots = [draw_teapot(tmp_path / f"{number}.png", number) for number in range(7)]
    async with talk(tmp_path, ScriptedModel(script, lambda prompt: "Nice. [photo 1]"), window=8192) as chat:
        await chat.say("Two of mine", *pots[:2])
        bank = chat.assistant.memory(chat.assistant.local_owner)
        shown = bank.messages([1])[1].photos
        bank.photos.set_caption(shown[0], "a blue teapot on a table")
        await chat.say("the second one is my aunt's")
        [check] = chat.prompts("consent")
        assert "with photos 1, 2: Two of mine" in check.text and '"photos": [2]' in check.text and not check.photos
        assert [entry.photo_ids for entry in bank.entries()] == [shown[1:]]
        for pot in pots[2:]:
            events = await chat.say("And this", pot)
            [finished] = [e for e in events if isinstance(e, ReplyFinished)]
            assert finished.message.photos == shown[:1]
            [reply] = chat.prompts("generate")
            assert "Two of mine (with photos 1, 2)" in reply.text
        assert "Photo 7 of the user's new message" in reply.text
        assert "Photo 1, from message 1 (not shown as a picture; this is its caption)" in reply.text
        assert "a blue teapot on a table" in Prompt.of(reply.json).material
        await chat.say("This one again", pots[0])
        [reply] = chat.prompts("generate")
        assert "Photo 1 of the user's new message" in reply.text and "Photo 1, from" not in reply.text


async def test_a_single_write_that_leaves_a_sentence_untouched_does_not_end_the_update(begin: Begin) -> None:
    anna, train = "My sister Anna moved to Porto.", "The train to work leaves at twenty to eight."

    def write(prompt: Prompt) -> Call:
        """Makes one call per answer, and never announces that more follow."""
        name, values = keep(prompt)
        facts = [text for text in (anna, train) if text in prompt.said]
        return (name, {**values, "text": facts[prompt.steps]}) if prompt.steps < len(facts) else ("finish", {})

    chat = begin(ScriptedModel(write, lambda prompt: "Noted."))
    await chat.say(f"{anna} {train} Good morning!")
    assert [entry.text for entry in chat.assistant.memory(chat.assistant.local_owner).entries()] == [anna, train]
    assert len(chat.prompts("manage update")) == 2
    first, second = chat.prompts("manage update")
    asked_again = f"What is to be written says nothing of this in the new message: “{train}”"
    assert asked_again in Prompt.of(second.json).outside and "says nothing of this" not in first.text
    await chat.say(f"{anna} Did I tell you that she sings?")
    assert len(chat.prompts("manage update")) == 1, "a question is no sentence that was left out"
    await chat.say(f"{anna} She wrote:\n\nFrom: Anna <anna@example.org>\nThe kitchen is painted. It took a week.")
    assert len(chat.prompts("manage update")) == 1, "nor is a sentence of a pasted text"


async def test_a_write_in_another_language_does_not_ask_for_the_sentences_that_it_says(begin: Begin) -> None:
    def write(prompt: Prompt) -> Call:
        return "add_memory", keep(prompt)[1] | {"text": "The user bought a red bicycle."}

    chat = begin(ScriptedModel(write, lambda prompt: "Schön."))
    await chat.say("Guten Morgen zusammen! Gestern habe ich mir ein rotes Fahrrad gekauft.")
    assert len(chat.prompts("manage update")) == 1


async def test_what_the_reply_found_by_a_search_of_its_own_stands_before_the_update(begin: Begin) -> None:
    fact = "Wren's canoe leaks."
    [search] = searches("canoe leaks")
    model = ScriptedModel(
        lambda prompt: ("finish", {}), lambda prompt: "Es leckt.", look=lambda prompt: None if prompt.steps else search
    )
    chat = begin(model)
    bank = chat.assistant.memory(chat.assistant.local_owner)
    message = bank.record(None, role="user", speaker="You", text=fact)
    for number in range(2 * SEARCH_HITS):
        bank.record(None, role="user", speaker="You", text=f"Das Paket mit der Nummer {number} ist angekommen.")
    evidence = (EvidenceRange(message.message_id, message.message_id),)
    entry = bank.add(EntryDraft(fact, evidence), who="test", why="the user said so")
    events = await chat.say("Das Paket mit dem Boot, was war damit?")
    by_message, by_reply = [e.hits for e in events if isinstance(e, MemorySearched)]
    assert entry not in [hit.record for hit in by_message] and entry in [hit.record for hit in by_reply]
    [update] = chat.prompts("manage update")
    assert fact in Prompt.of(update.json).material and Prompt.of(update.json).memories.keys() == {entry.memory_id}


async def test_what_the_check_refuses_may_be_put_forward_once_more_in_the_users_own_words(begin: Begin) -> None:
    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        name, arguments = keep(prompt)
        return name, arguments | ({} if "Rejected: " in prompt.text else {"text": f"{prompt.said} It is a fig candle."})

    def consent(request: dict[str, Any]) -> Reply:
        prompt = Prompt.of(request)
        verdicts = accept_all(prompt)["verdicts"]
        for verdict in verdicts:
            if "candle" in prompt.material or "never" in prompt.said:
                verdict |= {"supported": False, "reason": "That it is a candle is a guess."}
        return Reply(tool_calls=((TOOL, {"verdicts": verdicts}),))

    single = ScriptedModel(write, lambda prompt: "Lovely.")

    def script(request: dict[str, Any]) -> Reply:
        return consent(request) if Prompt.of(request).stage == "consent" else single(request)

    chat = begin(script)
    events = await chat.say("I got mom something with fig.")
    assert [event.entry.text for event in events if isinstance(event, MemoryChanged)] == [
        "I got mom something with fig."
    ]
    assert not [event for event in events if isinstance(event, NotKept)]
    prompt = chat.prompts("manage update")[-1]
    assert "That it is a candle is a guess." in prompt.text
    stages = [Prompt.of(request.json).stage for request in chat.server.requests]
    assert stages == ["generate", "manage update", "consent", "manage update", "consent"]
    events = await chat.say("I never said so.")
    [refused] = [event for event in events if isinstance(event, NotKept)]
    assert refused.text == "Keep: I never said so.", "the second attempt alone is told"


async def test_a_message_of_several_things_finds_what_is_known_of_each_name_in_it(begin: Begin) -> None:
    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        if "lends" not in prompt.said:
            return "finish", {}
        name, arguments = keep(prompt)
        return name, arguments | {"concepts": [{"name": "Tasha", "kind": "person"}]}

    chat = begin(ScriptedModel(write, lambda prompt: "All right."))
    await chat.say("Tasha lends me a backpack for the beach in May.")
    chat.conversation = None
    await chat.say("ok the candle smells of cedar and not of fig. mateo got his days off. tasha says hello btw")
    [reply] = chat.prompts("generate")
    assert "Tasha lends me a backpack" in Prompt.of(reply.json).material


async def test_what_is_nearest_is_shown_as_such_where_nothing_is_near_and_no_reply_rests_on_it(
    begin: Begin, tmp_path: Path
) -> None:
    chat = begin(ScriptedModel(keep_and_find, lambda prompt: "All right."))
    await chat.say("I cooked on ships for thirty years.", draw_teapot(tmp_path / "one.png", 1))
    chat.conversation = None
    events = await chat.say("Wait, my sister counted again and she says twenty seven")
    for stage in ("generate", "manage update"):
        [prompt] = [Prompt.of(request.json) for request in chat.prompts(stage)]
        [found_block] = [block.body for block in prompt.blocks if block.title == "Found in memory"]
        assert found_block.startswith(NOTHING_NEAR) and "I cooked on ships for thirty years." in found_block
    assert not chat.prompts("generate")[0].photos, "what may be about something else is told, and not shown"
    update = Prompt.of(chat.prompts("manage update")[0].json)
    assert update.memories[1]["photos"] == [1], "what an update may name"
    [finished] = [e for e in events if isinstance(e, ReplyFinished)]
    assert finished.sources == ()


async def test_a_message_finds_what_it_names_though_the_one_before_it_finds_more(begin: Begin) -> None:
    texts = [
        "I applied for a job at the city archive this week, nobody knows yet.",
        "Frau Seidel from the ground floor is in rehab, and I walk her dog Balu on Saturdays.",
        "Balu belongs to Frau Seidel and pulls on his lead.",
        "Frau Seidel will be in rehab until the end of October.",
        "Balu is a red chow chow and eats twice a day.",
        "On Saturdays I buy bread for Frau Seidel after the walk with Balu.",
        "Frau Seidel gave me the key of her cellar, where Balu's lead hangs.",
        "Balu barks at the postman who comes to Frau Seidel.",
    ]
    before = "Balu was happy today, and Frau Seidel from the ground floor called from her rehab to ask how he is."
    forget = "Never mind what I told you about the archive, I'd be glad if it did not come up any more"

    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        if prompt.said != forget:
            return keep(prompt)
        [memory_id] = [number for number, memory in prompt.memories.items() if "archive" in memory["text"]]
        evidence = [[prompt.message_id] * 2]
        return "delete_memory", {"memory_id": memory_id, "reason": "asked", "evidence_ids": evidence}

    chat = begin(ScriptedModel(write, lambda prompt: "Understood."))
    bank = chat.assistant.memory(chat.assistant.local_owner)
    messages = [bank.record(None, role="user", speaker="You", text=text) for text in texts]
    drafts = [
        EntryDraft(message.text, (EvidenceRange(message.message_id, message.message_id),)) for message in messages
    ]
    bank.write([Addition(draft, "told") for draft in drafts], who="test")
    bank.index()
    await chat.say(before)
    events = await chat.say(forget)
    [reply] = chat.prompts("generate")
    [found_block] = [block.body for block in Prompt.of(reply.json).blocks if block.title == "Found in memory"]
    assert "archive" in found_block.partition(TOGETHER)[0] and "Balu" in found_block.partition(TOGETHER)[2]
    assert [event.change for event in events if isinstance(event, MemoryChanged)] == ["forgotten"]
    assert len(chat.prompts("manage update")) == 1
    await chat.say("Fine, let's see what tomorrow brings.")
    [update] = chat.prompts("manage update")
    [changed] = [b for b in Prompt.of(update.json).blocks if b.title == "What was changed last in the memory"]
    assert changed.body == "forgotten: what the user asked to forget"


async def test_thanks_cost_one_call_and_are_passed_over_by_the_message_after_them(begin: Begin) -> None:
    chat = begin(ScriptedModel(keep_and_find, lambda prompt: "You are welcome."))
    await chat.say("My dog Bobo sleeps in the kitchen.")
    events = await chat.say("Thank you so much!")
    assert [Prompt.of(request.json).stage for request in chat.server.requests] == ["generate"]
    assert not [event for event in events if isinstance(event, MemorySearched)]
    [reply] = chat.server.requests
    assert "Found in memory" not in reply.text
    events = await chat.say("And what does he eat?")
    assert [event.query.text for event in events if isinstance(event, MemorySearched)] == [
        "And what does he eat?",
        "My dog Bobo sleeps in the kitchen.\nAnd what does he eat?",
    ]


async def test_thanks_that_may_answer_a_question_of_the_assistant_are_looked_at(begin: Begin) -> None:
    replies = iter(["Shall I keep Tuesday as the day of the choir?", "All right.", "All right."])
    chat = begin(ScriptedModel(keep_and_find, lambda prompt: next(replies)))
    await chat.say("The choir moved to Tuesdays.")
    await chat.say("Thanks!")
    assert [Prompt.of(request.json).stage for request in chat.server.requests][:2] == ["generate", "manage update"]
    await chat.say("Thanks!")
    assert [Prompt.of(request.json).stage for request in chat.server.requests] == ["generate"]


async def test_the_check_knows_in_a_later_conversation_who_the_user_is_and_whose_relative_somebody(
    begin: Begin,
) -> None:
    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        name, arguments = keep(prompt)
        concepts = [{"name": each, "kind": "person"} for each in ("Hanna", "Tomek")]
        if "teddy" in prompt.said:
            return name, arguments | {"text": "Hanna's brother Tomek sent Hanna a teddy bear.", "concepts": concepts}
        return name, arguments | {"concepts": [concept for concept in concepts if concept["name"] in prompt.said]}

    chat = begin(ScriptedModel(write, lambda prompt: "Nice."))
    await chat.say("haha exactly. I'm Hanna btw, I live in Leipzig")
    await chat.say("Mój brat Tomek ma uczulenie na orzechy laskowe.")
    chat.conversation = None
    await chat.say("Tomek sent me this teddy after my operation")
    [check] = chat.prompts("consent")
    [names] = [b for b in Prompt.of(check.json).blocks if b.title == "Names that the user gave"]
    assert names.body.splitlines() == [
        "Hanna (person), in the user's words: “I'm Hanna”",
        "Tomek (person), in the user's words: “Mój brat Tomek”",
    ]


async def test_the_words_that_ask_to_forget_are_forgotten_with_it(begin: Begin) -> None:
    asking = "hey can u wipe the thing about his job"

    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        if asking not in prompt.said:
            return keep(prompt) if "fired" in prompt.said else ("finish", {})
        evidence = [[prompt.message_id, prompt.message_id]]
        [memory_id] = prompt.memories
        return "delete_memory", {"memory_id": memory_id, "reason": "asked", "evidence_ids": evidence, "request": asking}

    chat = begin(ScriptedModel(write, lambda prompt: "As you wish."))
    await chat.say("Mateo got fired from the bike shop.")
    events = await chat.say(f"{asking}. It rains today.")
    assert [event.change for event in events if isinstance(event, MemoryChanged)] == ["forgotten"]
    chat.conversation = None
    await chat.say("how is work going for mateo, and his job?")
    [reply] = chat.prompts("generate")
    assert "wipe" not in reply.text and "fired" not in reply.text


async def test_who_forgets_a_memory_is_shown_what_else_rests_on_the_same_message(begin: Begin) -> None:
    beside = "Stairs are hard at present."

    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        if "forget" not in prompt.said:
            return "finish", {}
        text = beside if beside in prompt.text else "The knee is seen by Dr. Vesterholm."
        [memory_id] = [id_ for id_, memory in prompt.memories.items() if memory["text"] == text]
        evidence = [[prompt.message_id, prompt.message_id]]
        return "delete_memory", {"memory_id": memory_id, "reason": "asked", "evidence_ids": evidence}

    chat = begin(ScriptedModel(write, lambda prompt: "All right."))
    await chat.say("Dr. Vesterholm sees my knee, and stairs are hard at present.")
    bank = chat.assistant.memory(chat.assistant.local_owner)
    [source, *_] = bank.conversation(chat.conversation or "")
    evidence = (EvidenceRange(source.message_id, source.message_id),)
    for text in ("The knee is seen by Dr. Vesterholm.", beside):
        bank.add(EntryDraft(text, evidence), who="test", why="the user said so")
    for number in range(2 * SEARCH_HITS):  # they fit the request better than what stands beside
        chat.conversation = None
        message = (await chat.say(f"Doctor {number} has seen the knee of patient {number}."))[0].message  # type: ignore[union-attr]
        other = EntryDraft(message.text, (EvidenceRange(message.message_id, message.message_id),))
        bank.add(other, who="test", why="the user said so")
    chat.conversation = None
    events = await chat.say("Please forget the doctor of my knee, Dr. Vesterholm.")
    assert [event.change for event in events if isinstance(event, MemoryChanged)].count("forgotten") >= 2
    assert not {beside, "The knee is seen by Dr. Vesterholm."} & {entry.text for entry in bank.entries()}


TOLD = "The garage code is 4711 and Olga moved to Riga."


@pytest.mark.parametrize(
    ("kept", "forgets", "asked_again", "stays"),
    [
        (TOLD, {"rest": "Olga moved to Riga."}, {}, ["Olga moved to Riga."]),
        ("The garage code is 4711.", {}, {"words": "The garage code is 4711"}, []),
    ],
    ids=["the memory holds both", "the message alone holds more"],
)
async def test_what_stays_of_a_message_is_found_in_the_users_own_words(
    begin: Begin, kept: str, forgets: dict[str, str], asked_again: dict[str, str], stays: list[str]
) -> None:
    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        if prompt.said == TOLD:
            return "add_memory", keep(prompt)[1] | {"text": kept}
        if "get rid" not in prompt.said:
            return "finish", {}
        if was_refused := "Rejected: " in prompt.text:
            assert f"“{TOLD}”" in prompt.text, "the writer reads the words that would go"
        [memory_id] = prompt.memories
        evidence = [[prompt.message_id, prompt.message_id]]
        arguments = {"memory_id": memory_id, "reason": "asked", "evidence_ids": evidence, "request": prompt.said}
        return "delete_memory", arguments | (asked_again if was_refused else forgets)

    single = ScriptedModel(write, lambda prompt: "All right.")

    def script(request: dict[str, Any]) -> Reply:
        prompt = Prompt.of(request)
        if prompt.stage != "consent":
            return single(request)
        verdicts = accept_all(prompt)["verdicts"]
        lost = '"sentences"' in prompt.material
        return Reply(
            tool_calls=((TOOL, {"verdicts": [{**verdict, "nothing_lost": not lost} for verdict in verdicts]}),)
        )

    chat = begin(script)
    await chat.say(TOLD)
    chat.conversation = None
    events = await chat.say("Please get rid of the garage code.")
    assert [event.change for event in events if isinstance(event, MemoryChanged)][:1] == ["forgotten"]
    bank = chat.assistant.memory(chat.assistant.local_owner)
    assert [entry.text for entry in bank.entries()] == stays
    chat.conversation = None
    await chat.say("Where did Olga move, and what opens the garage?")
    [reply] = chat.prompts("generate")
    assert "[forgotten] and Olga moved to Riga." in Prompt.of(reply.json).material
    assert not any("4711" in request.text for request in chat.server.requests)


async def test_a_name_is_taken_from_a_photo_of_an_earlier_conversation(begin: Begin, tmp_path: Path) -> None:
    def write(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        name, arguments = keep(prompt)
        if "not Rex" not in prompt.said:
            return name, arguments | {"concepts": [{"name": "Rex", "kind": "pet"}]}
        [memory] = prompt.memories.values()
        rex = {"name": "Rex", "kind": "pet", "denied": True}
        return name, arguments | {"photos": memory["photos"], "concepts": [rex]}

    chat = begin(ScriptedModel(write, lambda prompt: "I see."))
    bank = chat.assistant.memory(chat.assistant.local_owner)
    await chat.say("That's Rex.", draw_teapot(tmp_path / "pot.png", 0))
    [rex] = bank.concepts()
    assert len(rex.photo_ids) == 1
    chat.conversation = None
    await chat.say("The photo that I showed you is not Rex, by the way.")
    [rex] = bank.concepts()
    assert not rex.photo_ids and len(rex.denied_photo_ids) == 1


async def test_a_photo_that_the_update_opens_itself_is_numbered_and_shown_to_the_check(begin: Begin) -> None:
    wish = "The user wants a crate of what was shown first."
    opened: list[int] = []

    def write(prompt: Prompt) -> Call:
        if not prompt.steps:
            opened[:] = [n for n in range(1, SEARCH_HITS + 3) if f"message {n}, " not in prompt.material][:1]
            return "fetch_raw_messages", {"ranges": [[opened[0], opened[0]]]}
        [number] = re.findall(rf"^message {opened[0]}, .* with photo (\d+)", prompt.material, re.M)
        return "add_memory", keep(prompt)[1] | {"text": wish, "rests_on": "shown", "photos": [int(number)]}

    single = ScriptedModel(write, lambda prompt: "I see.")

    def script(request: dict[str, Any]) -> Reply:
        prompt = Prompt.of(request)
        if prompt.stage != "consent":
            return single(request)
        verdicts = accept_all(prompt)["verdicts"]
        return Reply(tool_calls=((TOOL, {"verdicts": [{**verdict, "rests_on": "shown"} for verdict in verdicts]}),))

    chat = begin(script)
    bank = chat.assistant.memory(chat.assistant.local_owner)
    for number in range(SEARCH_HITS + 2):
        photo = jpeg(f"#{20 * number:02x}8040")
        bank.record(None, role="user", speaker="You", text=f"Look at number {number}", photos=[photo])
    await chat.say("I'd like to have a crate of that for the party.")
    [shown] = chat.prompts("consent shown")
    assert len(shown.photos) == 1
    [entry] = bank.entries()
    assert (entry.text, entry.photo_ids) == (wish, bank.messages(opened)[opened[0]].photos)


async def test_what_corrects_a_part_stands_with_the_memory_and_with_its_message(begin: Begin) -> None:
    trip, size = "Wren leaves for a trip on 9 May and takes shoes in size 36.", "Wren takes a 37, not a 36."

    def write(prompt: Prompt) -> Call:
        if prompt.said.endswith("?"):
            return "finish", {}
        corrects = next(iter(prompt.memories), None) if "37" in prompt.said else None
        return "add_memory", keep(prompt)[1] | ({"corrects": corrects} if corrects else {})

    chat = begin(ScriptedModel(write, lambda prompt: "I see."))
    await chat.say(trip)
    await chat.say(size)
    await chat.say("What was that about Wren?")
    [reply] = chat.prompts("generate")
    assert f"{trip} (a part of this was corrected by what was said later)" in reply.text
    chat.conversation = None
    await chat.say("When does Wren leave?")
    [reply] = chat.prompts("generate")
    memories = Prompt.of(reply.json).memories
    assert memories[1]["corrected_in_part_by"] == f"memory 2, “{size}”" and memories[2]["corrects"] == 1
    assert f"{trip} [corrected later in part, by memory 2, “{size}”]" in Prompt.of(reply.json).material
    chat.assistant.change_use(chat.assistant.local_owner, Pinning(1, True, "the user chose it in the memory"))
    chat.conversation = None
    await chat.say("How do you do?")
    [reply] = chat.prompts("generate")
    [pinned] = [block for block in Prompt.of(reply.json).blocks if block.title == "Pinned by the user"]
    assert f"memory 2, “{size}”" in pinned.body


async def test_as_published_a_finish_without_ids_keeps_what_was_found(tmp_path: Path) -> None:
    model = ScriptedModel(keep_and_find, lambda prompt: "His ball.")
    async with talk(tmp_path, model, published_stages=True) as chat:
        await chat.say("My dog Bobo loves his ball.")
        chat.conversation = None
        await chat.say("What does Bobo love?")
        [reply] = chat.prompts("generate")
        assert "My dog Bobo loves his ball." in Prompt.of(reply.json).material and not reply.json.get("tools")


async def test_as_published_a_search_that_gives_up_is_told_to_the_reply_and_to_the_user(tmp_path: Path) -> None:
    single = ScriptedModel(keep_and_find, lambda prompt: "I may miss something.")

    def script(request: dict[str, Any]) -> Reply:
        return say("Hm.") if Prompt.of(request).stage == "query" else single(request)

    async with talk(tmp_path, script, published_stages=True) as chat:
        events = await chat.say("What does Bobo love?")
        [reply] = chat.prompts("generate")
        assert "The memory was not searched to the end" in Prompt.of(reply.json).material
        [failure] = [e for e in events if isinstance(e, Failed)]
        assert failure.stage == "query" and "may miss something that I remember" in failure.reason


async def test_each_prompt_begins_as_the_one_before(begin: Begin) -> None:
    def look_first(prompt: Prompt) -> tuple[str, dict[str, Any]]:
        return searches(f"Bobo {prompt.steps}")[0] if prompt.steps < 2 else keep_and_find(prompt)

    chat = begin(ScriptedModel(look_first, lambda prompt: "Noted."))
    await chat.say("My dog Bobo loves his ball.")
    systems = {request.json["messages"][0]["content"] for request in chat.prompts("manage update")}
    first, second, third = (request.json["messages"] for request in chat.prompts("manage update"))
    replies = [chat.prompts("generate")[0].json["messages"]]
    await chat.say("Bobo is brown.")
    systems |= {request.json["messages"][0]["content"] for request in chat.prompts("manage update")}
    replies.append(chat.prompts("generate")[0].json["messages"])
    assert len(systems) == 1
    assert first[1]["content"].endswith("rounds left.")
    assert first[1]["content"].startswith(second[1]["content"]) and second[1] == third[1]
    assert second[2] == third[2] and second[3]["content"].startswith(third[3]["content"])
    assert replies[0][0] == replies[1][0], "the system message of the reply"
    assert replies[1][1]["content"] == "My dog Bobo loves his ball."


async def test_everything_fits_into_a_small_window_and_what_is_cut_is_said(tmp_path: Path) -> None:
    window = 8192

    def script(request: dict[str, Any]) -> Reply:
        if Prompt.of(request).stage == "manage update":
            return Reply(tool_calls=(("finish", {}),))
        fetched = "tool_calls" in json.dumps(request)
        if "What did Bobo" in json.dumps(request) and not fetched:
            return Reply(tool_calls=(("fetch_raw_messages", {"ranges": [[1, 200]]}),))
        return say("and so on " * 80)

    async with talk(tmp_path, script, window=window) as chat:
        for number in range(12):
            await chat.say(f"Story {number}. " + "Once upon a time there was a dog. " * 40)
        await chat.say("What did Bobo do?")
        sizes = [tokens_of(json.dumps(request.json, ensure_ascii=False)) for request in chat.server.requests]
        assert max(sizes) <= window - 2048, "the rest is for the answer"
        _question, reply = chat.prompts("generate")
        assert "more left out: there is no room.)" in reply.text
        assert "Story 0." in reply.text, "what was fetched is cut from its end"
        assert "left out: there is no room" in reply.text and "What did Bobo do?" in reply.text
        await chat.say("Look at this: " + "x" * 19_000)
        assert max(tokens_of(json.dumps(request.json)) for request in chat.server.requests) <= window
        assert "… (shortened) …" in chat.prompts("generate")[0].text


@pytest.mark.parametrize(
    ("reply_tokens", "asked_for", "style"),
    [
        (8192, 5500, ""),
        (4096, 4096, ""),
        (1024, 1024, ""),
        (4096, 4096, "Answer in a word, like these: " + "yes, no, " * 1000),
    ],
    ids=["a quarter", "default", "less", "long instructions"],
)
async def test_a_prompt_leaves_room_for_the_reply_that_is_asked_for(
    tmp_path: Path, reply_tokens: int, asked_for: int, style: str
) -> None:
    window = 22_000

    def script(request: dict[str, Any]) -> Reply:
        fetched = "tool_calls" in json.dumps(request)
        return say("He swam.") if fetched else Reply(tool_calls=(("fetch_raw_messages", {"ranges": [[1, 12]]}),))

    async with talk(tmp_path, script, window=window, reply_tokens=reply_tokens, style=style) as chat:
        bank = chat.assistant.memory(chat.assistant.local_owner)
        for number in range(12):
            text = f"Story {number}. " + "Once upon a time there was a dog. " * 200
            bank.record(None, role="user", speaker="You", text=text)
        await chat.say("What did Bobo do?")
        _question, reply = chat.prompts("generate")
        assert reply.json["max_tokens"] == asked_for
        assert style in reply.text
        room = window - asked_for
        assert room - 3000 < tokens_of(json.dumps(reply.json, ensure_ascii=False)) <= room


async def test_a_window_that_is_too_short_for_updates_is_enough_to_chat(tmp_path: Path) -> None:
    window = 4096
    async with talk(tmp_path, ScriptedModel(keep_and_find, lambda prompt: "Noted."), window=window) as chat:
        await chat.say("My dog Bobo loves his ball.")
        for number in range(4):
            await chat.say(f"Story {number}. " + "Once upon a time there was a dog. " * 60)
            [reply] = chat.prompts("generate")
            assert tokens_of(json.dumps(reply.json, ensure_ascii=False)) <= window - reply.json["max_tokens"]
        chat.conversation = None
        await chat.say("What does Bobo love?")
        [reply] = chat.prompts("generate")
        assert "My dog Bobo loves his ball." in Prompt.of(reply.json).material
        assert tokens_of(json.dumps(reply.json, ensure_ascii=False)) <= window - reply.json["max_tokens"]


async def test_a_model_without_eyes_gets_captions_and_says_so_once(tmp_path: Path) -> None:
    blind = ScriptedModel(keep_and_find, lambda prompt: "I cannot see photos.", sees_photos=False)
    async with talk(tmp_path, blind) as chat:
        await chat.say("Look at this!", draw_teapot(tmp_path / "one.png", 1))
        assert [len(request.photos) for request in chat.server.requests if request.photos] == [1], (
            "the question of colours"
        )
        [reply] = chat.prompts("generate")
        [block] = [b for b in Prompt.of(reply.json).blocks if b.title == "Photo 1 of the user's new message"]
        assert block.body.startswith("perhaps ") or block.body == "no caption"
        assert "Tell\nthe user in one short sentence that you cannot see photos" in reply.text
        await chat.say("And this one?", draw_teapot(tmp_path / "two.png", 2))
        assert not any(request.photos for request in chat.server.requests)
        [reply] = chat.prompts("generate")
        assert "do not say it again" in reply.text
