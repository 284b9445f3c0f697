"""What the update can do to the memory beside adding: forgetting words and parts, bringing back, tying, marking history."""

from collections.abc import Callable

import pytest

from m2a import Assistant
from m2a.agents.material import message_line
from m2a.agents.prompting import stage_messages
from m2a.agents.state import Rejected, SearchScope, TurnState
from m2a.types import (
    Action,
    AddMemory,
    DeleteMemory,
    FetchRawMessages,
    Finish,
    ForgetWords,
    MemoryChanged,
    ReplaceMemory,
    RestoreMemory,
    SearchSemanticMemories,
    TurnEvent,
)
from models.abilities import Abilities
from models.chat_model import in_words
from tests.scripted_policy import ScriptedPolicy
from tests.turns import of_this_turn, only, recall, remember, turn

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def assistant(shared_assistant: Assistant) -> Assistant:
    return shared_assistant


async def changes(assistant: Assistant, text: str, conversation_id: str | None = None) -> list[MemoryChanged]:
    events: list[TurnEvent] = await turn(assistant, text, conversation_id=conversation_id)
    return only(MemoryChanged, events)


async def test_words_that_only_a_message_holds_are_forgotten_with_the_request(
    assistant: Assistant, policy: ScriptedPolicy
) -> None:
    [recorded, *_] = await turn(assistant, "The PIN is 4711, and I like tea.")
    message = recorded.message  # type: ignore[union-attr]
    remember(policy, ForgetWords(message_id=message.message_id, words="4711"))
    assert [change.change for change in await changes(assistant, "Get rid of the PIN 4711. Thanks!")] == ["forgotten"]
    messages = assistant.messages(assistant.local_owner, message.conversation_id)
    assert messages[0].text == "The PIN is [forgotten], and I like tea."
    assert assistant.memory(assistant.local_owner).find_messages("4711") == []


async def test_a_part_of_a_memory_is_forgotten_and_the_rest_stays_in_the_conversation(
    assistant: Assistant, policy: ScriptedPolicy
) -> None:
    remember(policy, of_this_turn(AddMemory, text="Ana lives in Graz and is ill."))
    [added] = await changes(assistant, "Ana lives in Graz and is ill.")
    assert added.entry is not None
    forget = of_this_turn(DeleteMemory, memory_id=added.entry.memory_id, reason="asked", words="is ill")
    remember(policy, forget)
    await changes(assistant, "Forget that she is ill.")
    bank = assistant.memory(assistant.local_owner)
    message = bank.messages([added.entry.evidence_ids[0].first]).popitem()[1]
    assert message.text == "Ana lives in Graz and [forgotten]." and bank.entries() == []


async def test_both_are_true_brings_back_what_the_turn_before_replaced(
    assistant: Assistant, policy: ScriptedPolicy
) -> None:
    remember(policy, of_this_turn(AddMemory, text="I speak Polish."))
    [added] = await changes(assistant, "I speak Polish.")
    assert added.entry is not None
    conversation = assistant.memory(assistant.local_owner).conversations()[0].conversation_id
    replace = of_this_turn(ReplaceMemory, memory_id=added.entry.memory_id, text="I speak Italian.", reason="said so")
    remember(policy, replace)
    await changes(assistant, "I speak Italian.", conversation)

    def restore(state: TurnState) -> Action:
        [before] = state.changes
        assert before.change == "replaced" and before.previous is not None
        return RestoreMemory(memory_id=before.previous.memory_id, reason="both are true")

    remember(policy, restore)
    assert [change.change for change in await changes(assistant, "No, both are true.", conversation)] == ["restored"]
    texts = {entry.text for entry in assistant.memory(assistant.local_owner).entries()}
    assert texts == {"I speak Polish.", "I speak Italian."}


async def test_a_superseded_statement_is_marked_as_history_in_a_prompt(
    assistant: Assistant, policy: ScriptedPolicy
) -> None:
    remember(policy, of_this_turn(AddMemory, text="Ivo is 34."))
    [added] = await changes(assistant, "My brother Ivo is 34.")
    assert added.entry is not None
    first = added.entry.evidence_ids[0].first
    remember(policy, of_this_turn(ReplaceMemory, memory_id=added.entry.memory_id, text="Ivo is 35.", reason="said so"))
    await changes(assistant, "No, Ivo is 35.")
    remember(policy, FetchRawMessages(ranges=((first, first),)))
    await changes(assistant, "Hm.")
    prompts = [
        in_words(stage_messages(state, Abilities(sees_photos=False), SearchScope()))
        for state in policy.seen
        if state.stage == "manage update"
    ]
    text = "".join(part for message in prompts[-1] for part in message.parts if isinstance(part, str))
    assert "My brother Ivo is 34. [history, of this alone: “Ivo is 34.” no longer holds]" in text


async def test_a_reply_that_rests_on_what_was_replaced_since_is_marked_as_history(
    assistant: Assistant, policy: ScriptedPolicy
) -> None:
    remember(policy, of_this_turn(AddMemory, text="Marta is vegetarian."))
    [added] = await changes(assistant, "Marta is vegetarian.")
    assert added.entry is not None
    bank, number = assistant.memory(assistant.local_owner), added.entry.memory_id
    recall(policy, SearchSemanticMemories(query="Marta"), Finish(memory_ids=(number,)))
    policy.text = f"Lentil soup, as Marta is vegetarian [memory {number}]."
    remember(policy)
    await changes(assistant, "What shall I cook for Marta?")
    reply = next(m for m in bank.find_messages("lentil soup") if m.role == "assistant")
    assert bank.revisions_in([reply.message_id]) == {}
    remember(policy, of_this_turn(ReplaceMemory, memory_id=number, text="Marta eats fish, too.", reason="said so"))
    await changes(assistant, "Marta eats fish, too.")
    [older] = bank.revisions_in([reply.message_id])[reply.message_id]
    assert "[history, of this alone: “Marta is vegetarian.” no longer holds]" in message_line(reply, [older])


REJECTED: dict[str, Callable[[TurnState], Action] | Action] = {
    "does not contain": ForgetWords(message_id=1, words="nobody said this"),
    "no message 99": ForgetWords(message_id=99, words="x"),
    "was replaced": RestoreMemory(memory_id=1, reason="both are true"),
    "no memory 9": of_this_turn(AddMemory, text="A part.", corrects=9),
    "copy the words exactly": of_this_turn(DeleteMemory, memory_id=1, reason="asked", words="nobody said this"),
    "does not say 'coffe'": of_this_turn(DeleteMemory, memory_id=1, reason="asked", rest="I like coffee."),
    "not all or nothing": of_this_turn(DeleteMemory, memory_id=1, reason="asked", rest="I like tea."),
    "staged already": of_this_turn(AddMemory, text="Said once."),
}


@pytest.mark.parametrize("complaint", REJECTED)
async def test_what_cannot_be_done_goes_back_to_the_writer(
    assistant: Assistant, policy: ScriptedPolicy, complaint: str
) -> None:
    remember(policy, of_this_turn(AddMemory, text="I like tea."))
    await turn(assistant, "I like tea.")
    first = [of_this_turn(AddMemory, text="Said once.")] if complaint == "staged already" else []
    remember(policy, *first, REJECTED[complaint])
    kept = await changes(assistant, "Hello again")
    observation = policy.seen[-1].steps[-1].observation
    assert isinstance(observation, Rejected) and complaint in observation.reason
    assert len(kept) == len(first)
