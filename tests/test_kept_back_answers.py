"""What is not to be mentioned, or past its day, stands in no prompt of a model and in no answer of the rules."""

from pathlib import Path

import pytest

from m2a.types import Expiry, KeepingBack, Pinning, Return
from tests.model_talk import keep_and_find
from tests.model_talk import talk as talk_to_model
from tests.offline_talk import Talk, drawing
from tests.scripted_model import Prompt, ScriptedModel

pytestmark = pytest.mark.asyncio(loop_scope="module")  # the assistant is the module's

MARKER = "Quetzal"


async def test_a_prompt_holds_what_is_pinned_and_nothing_that_is_kept_back(tmp_path: Path) -> None:
    async with talk_to_model(tmp_path, ScriptedModel(keep_and_find, lambda prompt: prompt.said)) as chat:
        owner, assistant = chat.assistant.local_owner, chat.assistant
        await chat.say(f"My dog is called {MARKER}.")
        await chat.say("The boiler is in the cellar.")
        first, bank = chat.conversation, assistant.memory(owner)
        secret, boiler = bank.entries()
        questions = ("What is my dog called?", "Tell me of my dog, what do you know?", "Bobo?")

        async def prompts() -> list[str]:
            changes = next((c for c in bank.conversations() if c.title == "Changes in Memory"), None)
            texts = []
            for conversation in (first, None, changes.conversation_id if changes else None):
                for question in questions:
                    chat.conversation = conversation
                    await chat.say(question)
                    texts += [request.text for request in chat.server.requests]
            return texts

        assert any(MARKER in prompt for prompt in await prompts())
        reply = assistant.change_use(owner, KeepingBack(secret.memory_id, ""))
        assistant.change_use(owner, Pinning(boiler.memory_id, True, ""))
        texts = await prompts()
        assert len(texts) >= 12 and not any(MARKER in prompt for prompt in texts)
        pinned = [block for block in Prompt.of(chat.server.requests[0].json).blocks if "Pinned" in block.title]
        assert len(pinned) == 1 and "cellar" in pinned[0].body
        opened = assistant.browser(owner).open(secret.memory_id)
        assert opened.kept_back and MARKER in opened.evidence[0].text
        assert MARKER in repr(assistant.explanation(owner, reply).changes)  # the page says which it was
        assistant.change_use(owner, Return(secret.memory_id, ""))
        assert any(MARKER in prompt for prompt in await prompts())


async def test_the_rules_answer_with_nothing_that_is_kept_back_or_past_its_day(talk: Talk) -> None:
    photo = drawing("sienna", "ellipse", 0)
    await talk.say(f"This is my cat {MARKER}.", [photo])
    await talk.say(f"{MARKER} sleeps on the oven.")
    await talk.say("I stay at the hotel Astoria.")
    owner, assistant = talk.owner, talk.assistant
    questions = (
        "What is my cat called?",
        "Who sleeps on the oven?",
        "Where does my cat sleep?",
        "What do you know of my cat?",
    )

    async def answers() -> list[str]:
        talk.conversation = None
        return [
            *[await talk.say(question) for question in questions],
            await talk.say("Who is this?", [drawing("sienna", "ellipse", 2)]),
        ]

    assert sum(MARKER in answer for answer in await answers()) >= 3
    entries = assistant.memory(owner).entries()
    for entry in entries:
        if MARKER in entry.text:
            assistant.change_use(owner, KeepingBack(entry.memory_id, ""))
        else:
            assistant.change_use(owner, Expiry(entry.memory_id, talk.clock.now.date(), ""))
    replies = await answers()  # each takes a day
    # A decline that says that something is not to be mentioned would tell a bystander that there is something.
    assert not any(MARKER in answer or "mention" in answer for answer in replies)
    assert "mention" not in await talk.say("Where did I put my passport?")
    assert "Astoria" not in await talk.say("Where do I stay?") and "Astoria" not in await talk.say("Which hotel is it?")
    assert len(assistant.memory(owner).kept_back(10, reason="expired")) == 1
