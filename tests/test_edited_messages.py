"""A message that is edited or sent anew: what rests on it is taken along or kept, and its earlier version stays readable."""

from pathlib import Path

import gradio as gr
import pytest

from m2a import Assistant
from m2a.memory.audit import verify
from m2a.memory.bank import MessageRefusedError
from m2a.types import AddMemory, Message, Query, Replacement, standing
from m2a.ui.chat_panel import ChatPanel
from tests.page_calls import all_of, click, other_user, request
from tests.scripted_policy import ScriptedPolicy
from tests.told_memory import Memory, draft_of
from tests.turns import of_this_turn, photo, remember, turn


def test_what_rests_on_the_message_alone_is_taken_back_and_what_it_replaced_holds_again(memory: Memory) -> None:
    berlin = memory.tell("Vera lives in Berlin.")
    memory.conversation = memory.bank.conversations()[0].conversation_id
    message, reply = memory.say("No, Vera lives in Linz now. I like tea.")
    moved = Replacement(berlin.memory_id, draft_of(message, "Vera lives in Linz now."), "")
    memory.bank.write([moved], who="test", update_of=reply.message_id)
    tea = memory.bank.add(draft_of(message, "I like tea."), who="test", why="")
    repetition, later = memory.say("I like tea.")
    memory.bank.add(draft_of(repetition, "I like tea."), who="test", why="")
    assert [entry.text for entry in memory.bank.resting_on(message.message_id)] == ["Vera lives in Linz now."]
    memory.bank.take_back_memories(message.message_id)
    assert {entry.text for entry in memory.bank.entries()} == {"Vera lives in Berlin.", "I like tea."}
    assert memory.bank.entry(tea.memory_id).evidence_ids == ((repetition.message_id, repetition.message_id),)
    assert memory.bank.replies.pending_updates() == [later.message_id]
    memory.bank.take_back_memories(repetition.message_id)
    assert memory.bank.replies.pending_updates() == []  # an update that is late brings nothing back
    memory.bank.index()
    assert verify(memory.stores) == []


def test_a_message_sets_aside_what_it_replaced_and_what_followed_that(memory: Memory) -> None:
    first, _ = memory.say("one")
    memory.conversation = first.conversation_id
    memory.say("two")
    bank, place = memory.bank, first.conversation_id
    edited = bank.record(place, role="user", speaker="You", text="one!", replaces=first.message_id)
    last = bank.record(place, role="user", speaker="You", text="one!!", replaces=edited.message_id)
    [(stands, aside)] = standing(bank.conversation(place))
    assert stands == last and [m.text for m in aside] == ["one", "Fine.", "two", "Fine.", "one!"]


@pytest.mark.parametrize("keep", [False, True])
async def test_an_edited_message_is_answered_anew_and_its_memories_go_along_or_stay(
    assistant: Assistant, policy: ScriptedPolicy, tmp_path: Path, keep: bool
) -> None:
    remember(policy, of_this_turn(AddMemory, text="Ana lives in Lisbon <b>."))
    await turn(assistant, "Ana lives in Lisbon <b>.", photo("red"))
    bank, panel, tab = assistant.memory(assistant.local_owner), ChatPanel(assistant, tmp_path), request(assistant)
    [place] = [conversation.conversation_id for conversation in bank.conversations()]
    [shown] = [html for html in panel.resending.on_edit(place, 80, click(message_id=1), tab) if isinstance(html, str)]
    assert (
        "1 memory comes from it:" in shown and 'data-resend="1"' in shown and "Ana lives in Lisbon &lt;b&gt;." in shown
    )
    assert 'data-retry="1"' in shown and "<b>." not in shown

    for text, error in (("x" * 20_001, MessageRefusedError), ("half \ud83d", MessageRefusedError)):
        with pytest.raises(error):
            await all_of(panel.resending.on_resend(place, click(message_id=1, text=text), tab))
    remember(policy, of_this_turn(AddMemory, text="Ana lives in Porto."))
    await all_of(panel.resending.on_resend(place, click(message_id=1, text=" Ana lives in Porto. ", keep=keep), tab))
    messages = bank.conversation(place)
    assert [m.text.strip() for m in messages] == ["Ana lives in Lisbon <b>.", "Fine.", "Ana lives in Porto.", "Fine."]
    assert (messages[2].replaces, messages[2].photos) == (1, messages[0].photos)
    texts = {entry.text for entry in bank.entries()}
    assert texts == {"Ana lives in Porto.", *(["Ana lives in Lisbon <b>."] if keep else [])}
    assert policy.seen[-1].recent == ()  # what was set aside is in no prompt
    hits = bank.search(Query("Where does Ana live? Lisbon, Porto. Fine."), kinds=("message",), relevance_floor=False)
    assert [hit.record.message_id for hit in hits if isinstance(hit.record, Message)] == [3, 4]
    [update] = await all_of(panel.on_open(click(conversation=place), tab))
    assert update.history and "Earlier version <span>· 2 messages" in update.history
    assert 'data-edit-message="3"' in update.history and 'data-edit-message="1"' not in update.history
    assert 'data-retry="3"' in update.history and 'data-retry="1"' not in update.history


async def test_the_form_says_how_many_messages_an_edit_sets_aside(
    assistant: Assistant, policy: ScriptedPolicy, tmp_path: Path
) -> None:
    remember(policy, of_this_turn(AddMemory, text="Ana lives in Oslo."), of_this_turn(AddMemory, text="Ana is a cook."))
    await turn(assistant, "Ana lives in Oslo. She is a cook.")
    bank, panel, tab = assistant.memory(assistant.local_owner), ChatPanel(assistant, tmp_path), request(assistant)
    [place] = [conversation.conversation_id for conversation in bank.conversations()]
    remember(policy, of_this_turn(AddMemory, text="Ivo lives in Rome."))
    await turn(assistant, "Ivo lives in Rome.", conversation_id=place)

    def form(message_id: int) -> str:
        [shown] = [
            html
            for html in panel.resending.on_edit(place, 80, click(message_id=message_id), tab)
            if isinstance(html, str)
        ]
        return shown

    first, last = form(1), form(3)
    assert (
        "The 3 messages after it leave the conversation with it" in first and "What I remember from them stays" in first
    )
    assert "Send again without these 3 messages" in first and "Forget the memories, too" in first
    assert "I stop using them." in first and "If one of them replaced" in first
    assert "aside" not in last and ">Send again<" in last and "Forget the memory, too" in last
    await all_of(panel.resending.on_resend(place, click(message_id=1, text="Ana is a cook.", keep=False), tab))
    assert "Ivo lives in Rome." in {entry.text for entry in bank.entries()}


async def test_an_answer_is_tried_again_and_nothing_is_taken_back(
    assistant: Assistant, policy: ScriptedPolicy, tmp_path: Path
) -> None:
    remember(policy, of_this_turn(AddMemory, text="Ana lives in Lisbon."))
    await turn(assistant, "Ana lives in Lisbon.")
    bank, panel, tab = assistant.memory(assistant.local_owner), ChatPanel(assistant, tmp_path), request(assistant)
    place, before = bank.conversations()[0].conversation_id, bank.entries()
    policy.text = "Another answer."
    updates = await all_of(panel.resending.on_retry(place, click(message_id=1), tab))
    assert [m.replaces for m in bank.conversation(place)] == [None, None, 1, None]
    assert "Another answer." in str(updates[-1].history) and bank.entries() == before


async def test_nobody_edits_what_is_anothers_and_what_is_not_there_is_not_sent(
    assistant: Assistant, tmp_path: Path
) -> None:
    await turn(assistant, "Ana lives in Oslo.")
    bank, panel = assistant.memory(assistant.local_owner), ChatPanel(assistant, tmp_path)
    place = bank.conversations()[0].conversation_id
    stranger = other_user(assistant)
    before = bank.conversation(place)
    assert "Oslo" not in str(panel.resending.on_edit(place, 80, click(message_id=1), stranger))
    assert await all_of(panel.resending.on_resend(place, click(message_id=1, text="Mine"), stranger)) == []
    for message_id in (2, 99, "1", None):  # a reply, none, and what the page's script does not send
        assert (
            await all_of(panel.resending.on_resend(place, click(message_id=message_id, text="x"), request(assistant)))
            == []
        )
    with pytest.raises(gr.Error, match="message is empty"):
        await all_of(panel.resending.on_resend(place, click(message_id=1, text="  "), request(assistant)))
    assert bank.conversation(place) == before
