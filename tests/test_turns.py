"""Turns of the assistant on real stores; a scripted policy stands for the model's judgement."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from m2a import Assistant
from m2a.agents.state import Decision, TurnState
from m2a.memory.audit import verify
from m2a.memory.bank import MessageRefusedError
from m2a.memory.conversations import UnknownConversationError
from m2a.memory.photo_decoder import PhotoRefusedError
from m2a.settings import load_settings
from m2a.types import (
    AddMemory,
    DeleteMemory,
    FetchRawMessages,
    FetchRawMessagesByTime,
    Finish,
    MemoryChanged,
    MemorySearched,
    MessageRecorded,
    Query,
    QueryMemory,
    ReplaceMemory,
    ReplyFinished,
    SearchRawMessages,
    SearchSemanticMemories,
    TextDelta,
    TurnEvent,
)
from models.chat_model import ChatModelError, MalformedReplyError, TokenUsage
from tests.scripted_policy import ScriptedPolicy
from tests.turns import START, of_this_turn, only, photo, recall, remember, told_about_bobo, turn


async def test_what_was_told_is_remembered_with_its_photo_and_found_again(assistant, policy):
    await told_about_bobo(assistant, policy)
    [entry] = assistant.memory(assistant.local_owner).entries()
    assert entry.evidence_ids == ((1, 1),)
    assert len(entry.photo_ids) == 1
    assert [c.name for c in assistant.memory(assistant.local_owner).concepts()] == ["Bobo"]

    recall(policy, SearchSemanticMemories(query="what toys does Bobo like?"), Finish(context="a ball", memory_ids=(1,)))
    policy.text = "The blue ball. [memory 1] [photo 1]"
    events = await turn(assistant, "What toys does he like?")
    [finished] = only(ReplyFinished, events)
    assert finished.message.text == "The blue ball."
    assert finished.message.photos == entry.photo_ids
    [source] = finished.sources
    assert source.hit.record == entry
    assert source.hit.ranks["dense"] == source.hit.ranks["bm25"] == 1
    assert [message.text for message in source.messages] == ["My dog Bobo loves the blue ball"]
    assert "".join(delta.text for delta in only(TextDelta, events)).strip() == "The blue ball."

    explained = assistant.explanation(assistant.local_owner, finished.message.message_id)
    assert explained.sources == finished.sources
    assert explained.searches == tuple(only(MemorySearched, events))


async def test_events_come_in_order_and_the_reply_is_not_held_up_by_the_update(assistant, policy):
    remember(policy, of_this_turn(AddMemory, text="Anna likes tea."))
    kinds = [type(event) for event in await turn(assistant, "Anna likes tea")]
    assert kinds[0] is MessageRecorded
    assert kinds.index(TextDelta) < kinds.index(ReplyFinished) < kinds.index(MemoryChanged)


async def test_a_replacement_keeps_the_old_as_history(assistant, policy):
    await told_about_bobo(assistant, policy)
    remember(policy, of_this_turn(ReplaceMemory, memory_id=1, text="Bobo loves the red ball.", reason="corrected"))
    [changed] = only(MemoryChanged, await turn(assistant, "Actually Bobo loves the red ball"))
    assert (changed.change, changed.previous.memory_id, changed.entry.memory_id) == ("replaced", 1, 2)
    bank = assistant.memory(assistant.local_owner)
    assert [entry.text for entry in bank.entries()] == ["Bobo loves the red ball."]
    assert bank.replaced_entries([1])[1].superseded_by == 2


async def test_a_statement_repeated_is_one_memory_and_the_newest(assistant, policy):
    owner, bank = assistant.local_owner, assistant.memory(assistant.local_owner)
    await told_about_bobo(assistant, policy)
    remember(policy, of_this_turn(AddMemory, text="Bobo barks."))
    await turn(assistant, "Bobo barks")
    remember(policy, of_this_turn(AddMemory, text="bobo loves the blue ball."))
    [changed] = only(MemoryChanged, await turn(assistant, "Bobo loves the blue ball"))
    assert (changed.change, changed.entry.memory_id) == ("added", 1)
    assert changed.entry.recorded_at == max(entry.recorded_at for entry in bank.entries())
    assert changed.entry.evidence_ids == ((1, 1), (5, 5))
    assert assistant.undo(owner, 6, 0)  # what was said the first time stays
    assert bank.entry(1).evidence_ids == ((1, 1),)


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (AddMemory(text="Bobo loves the blue ball", evidence_ids=((2, 2),)), "must include the message"),
        (AddMemory(text="Bobo loves the blue ball", evidence_ids=((99, 99),)), "must include the message"),
        (of_this_turn(DeleteMemory, memory_id=7, reason="x"), "no memory 7"),
        (of_this_turn(ReplaceMemory, memory_id=7, text="Nice weather today", reason="x"), "no memory 7"),
        (of_this_turn(AddMemory, text="Nice weather today", photos=(3,)), "no photo 3"),
    ],
)
async def test_a_write_that_names_what_is_not_there_goes_back_to_its_author(assistant, policy, write, reason):
    await told_about_bobo(assistant, policy)
    before = assistant.memory(assistant.local_owner).entries()
    remember(policy, write, Finish())
    events = await turn(assistant, "Nice weather today")
    assert not only(MemoryChanged, events)
    assert reason in policy.seen[-1].steps[-1].observation.reason
    assert assistant.memory(assistant.local_owner).entries() == before


async def test_nothing_can_be_written_while_querying(assistant, policy):
    recall(policy, of_this_turn(AddMemory, text="Nice weather today"), Finish())
    await turn(assistant, "Nice weather today")
    assert assistant.memory(assistant.local_owner).entries() == []
    rejected = [
        state.steps[-1].observation.reason for state in policy.seen if state.stage == "manage query" and state.steps
    ]
    assert "Not possible here" in rejected[0]


async def test_a_malformed_action_goes_back_three_times_then_the_turn_goes_on(assistant, policy):
    mistakes = [MalformedReplyError(f"mistake {number}") for number in range(4)]
    policy.steps["query"] = [*mistakes, QueryMemory(query="never reached")]
    events = await turn(assistant, "Hello")
    assert only(ReplyFinished, events)
    reasons = [[step.observation.reason for step in state.steps] for state in policy.seen if state.stage == "query"]
    assert reasons == [[], ["mistake 0"], ["mistake 0", "mistake 1"], ["mistake 0", "mistake 1", "mistake 2"]]


async def test_the_manager_opens_evidence_and_says_when_it_ran_out_of_rounds(assistant, policy):
    await told_about_bobo(assistant, policy)
    day = START.date()
    recall(
        policy,
        SearchSemanticMemories(query="ball"),
        FetchRawMessages(ranges=((1, 1),)),
        FetchRawMessagesByTime(start=day, end=day),
        SearchRawMessages(query="dog"),
        SearchSemanticMemories(query="blue ball"),
    )
    [finished] = only(ReplyFinished, await turn(assistant, "What about Bobo?"))
    assert [source.hit.record.memory_id for source in finished.sources] == [1]
    [context] = next(state.context for state in policy.seen if state.stage == "generate" and state.context)
    assert not context.complete
    opened = [state.steps for state in policy.seen if state.stage == "manage query"][-1]
    assert [message.message_id for message in opened[1].observation.messages] == [1]
    assert [message.message_id for message in opened[2].observation.messages] == [1, 2, 3]
    assert [hit.record.message_id for hit in opened[3].observation.hits] == [1]


async def test_a_finish_that_names_an_unseen_memory_is_refused(assistant, policy):
    recall(policy, Finish(context="made up", memory_ids=(7,)), Finish())
    [finished] = only(ReplyFinished, await turn(assistant, "What about Bobo?"))
    assert finished.sources == ()


async def test_recent_turns_and_history_go_with_the_request(assistant, policy):
    conversation_id = None
    for number in range(8):
        events = await turn(assistant, f"message {number}", conversation_id=conversation_id)
        conversation_id = events[0].message.conversation_id
    state = next(state for state in reversed(policy.seen) if state.stage == "query")
    assert [m.text for m in state.recent][::2] == [f"message {number}" for number in range(2, 7)]
    generate = next(state for state in reversed(policy.seen) if state.stage == "generate")
    assert len(generate.recent) == 14


async def test_leaving_the_turn_does_not_cancel_it(assistant, policy):
    remember(policy, of_this_turn(AddMemory, text="Anna likes tea"))
    async for _event in assistant.turn(assistant.local_owner, "Anna likes tea"):
        break
    await turn(assistant, "Hello")
    assert [entry.text for entry in assistant.memory(assistant.local_owner).entries()] == ["Anna likes tea"]


class PausedPolicy(ScriptedPolicy):
    """Replies only after the test releases it."""

    def __init__(self) -> None:
        super().__init__(reply="a reply of several words that both write")
        self.goes_on = asyncio.Event()

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        await self.goes_on.wait()
        async for piece in super().reply(state):
            yield piece


async def test_two_turns_at_once_are_taken_in_and_answered_one_after_the_other(tmp_path, clock):
    policy = PausedPolicy()
    happened: list[tuple[str, type]] = []

    async def follow(assistant: Assistant, text: str) -> None:
        async for event in assistant.turn(assistant.local_owner, text):
            happened.append((text, type(event)))
            if len(happened) == 2:
                policy.goes_on.set()

    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=clock) as assistant:
        remember(policy, of_this_turn(AddMemory, text="Anna likes tea"), Finish())
        await asyncio.gather(follow(assistant, "Anna likes tea"), follow(assistant, "Hello"))
        assert len(assistant.memory(assistant.local_owner).conversations()) == 2
    assert set(happened[:2]) == {("Anna likes tea", MessageRecorded), ("Hello", MessageRecorded)}
    answered = [text for text, _ in happened[2:]]
    first = answered[0]
    ended = answered.count(first)
    assert answered[:ended] == [first] * ended, "the one had not ended when the other began"
    assert [kind for _, kind in happened].count(ReplyFinished) == 2


CONTEXT_TURNS = load_settings().context_turns


class PausedUpdates(ScriptedPolicy):
    """Makes its update only after the test releases it."""

    published_stages = False

    def __init__(self) -> None:
        super().__init__()
        self.goes_on = asyncio.Event()

    async def decide(self, state: TurnState) -> Decision:
        await self.goes_on.wait()
        return await super().decide(state)


async def test_a_reply_whose_prompt_holds_the_turns_before_does_not_wait_for_their_updates(tmp_path, clock):
    policy = PausedUpdates()
    policy.steps["manage update"] = [of_this_turn(AddMemory, text="Anna likes tea"), Finish()]
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=clock) as assistant:
        owner = assistant.local_owner
        first = assistant.turn(owner, "Anna likes tea")
        conversation = await _answered(first)
        for number in range(CONTEXT_TURNS + 2):
            more = assistant.turn(owner, f"And cake {number}", conversation_id=conversation)
            assert await _answered(more) == conversation
        bank = assistant.memory(owner)
        assert len(await asyncio.to_thread(bank.replies.pending_updates)) == CONTEXT_TURNS + 3 and not bank.entries()

        elsewhere = asyncio.create_task(_answered(assistant.turn(owner, "What does Anna like?")))
        policy.goes_on.set()
        await elsewhere
        assert [entry.text for entry in bank.entries()] == ["Anna likes tea"], "another conversation waits for it"
        assert [type(event) async for event in first].count(MemoryChanged) == 1, "each notice comes in its own turn"


async def test_a_photo_is_captioned_once_its_message_is_answered_and_waits_for_no_update(tmp_path, clock):
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=PausedUpdates(), clock=clock) as assistant:
        bank = assistant.memory(assistant.local_owner)
        await _answered(assistant.turn(assistant.local_owner, "", [photo("red")]))
        async with asyncio.timeout(30):
            while await asyncio.to_thread(bank.photos.uncaptioned):
                pass
        assert len(bank.replies.pending_updates()) == 1


async def _answered(turn: AsyncIterator[TurnEvent]) -> str:
    """Returns the conversation of the turn once it is answered."""
    async for event in turn:
        if isinstance(event, ReplyFinished):
            return event.message.conversation_id
    raise AssertionError("It was not answered.")


async def test_bad_input_is_refused_before_anything_is_stored(assistant):
    owner = assistant.local_owner
    message = (await turn(assistant, "Hello"))[0].message
    for text, photos, conversation_id, replaces, error in [
        ("", (), None, None, MessageRefusedError),
        ("look", (photo("red"), b"no photo"), None, None, PhotoRefusedError),
        ("look", (Path("nowhere.png"),), None, None, PhotoRefusedError),
        ("look", (photo("red"),), "unknown", None, UnknownConversationError),
        ("look", (photo("red"),), message.conversation_id, 99, MessageRefusedError),
        ("look", (photo("red"),), message.conversation_id, message.message_id + 1, MessageRefusedError),
    ]:
        with pytest.raises(error):
            async for _event in assistant.turn(owner, text, photos, conversation_id, replaces):
                pass
        assert await asyncio.to_thread(verify, assistant.stores) == []
    assert len(assistant.memory(owner).conversations()) == 1
    assert len(assistant.messages(owner, message.conversation_id)) == 2


async def test_of_several_photos_the_refused_one_is_named(assistant, tmp_path):
    notes, dog = tmp_path / "notes.txt", tmp_path / "dog.png"
    notes.write_text("no photo")
    dog.write_bytes(photo("brown"))
    for photos, words in [
        ((photo("red"), b"no photo", photo("blue")), "Photo 2 of 3: This is not a photo"),
        ((dog, photo("red"), notes), "Photo 3 of 3 (notes.txt): This is not a photo"),
        ((photo("red"), b""), "Photo 2 of 2: This file is empty"),
        ((notes,), "This is not a photo"),
    ]:
        with pytest.raises(PhotoRefusedError) as refusal:
            async for _event in assistant.turn(assistant.local_owner, "look", photos):
                pass
        assert str(refusal.value).startswith(words)
    assert await asyncio.to_thread(verify, assistant.stores) == []


async def test_a_memory_of_photos_that_look_alike_says_each_guess_once(assistant, policy):
    bank = assistant.memory(assistant.local_owner)
    guesses = {"brown": "perhaps a Pembroke or a Cardigan", "tan": "perhaps a Cardigan"}
    for colour, caption in guesses.items():
        shown = bank.record(None, role="user", speaker="You", text="", photos=[photo(colour)])
        bank.photos.set_caption(shown.photos[0], caption)
    remember(policy, of_this_turn(AddMemory, text="Bobo loves the blue ball.", photos=(1, 2)))
    await turn(assistant, "My dog Bobo loves the blue ball.", *map(photo, guesses))
    [entry] = bank.entries()
    assert (len(entry.photo_ids), entry.caption) == (2, "perhaps a Pembroke or a Cardigan")


async def test_a_photo_of_a_refused_message_that_another_shows_stays(assistant):
    shown = (await turn(assistant, "look", photo("red")))[0].message
    with pytest.raises(UnknownConversationError):
        await turn(assistant, "look", photo("red"), conversation_id="unknown")
    assert assistant.memory(assistant.local_owner).photos.data(shown.photos[0])
    assert await asyncio.to_thread(verify, assistant.stores) == []


async def test_a_photo_without_words_and_several_photos_are_kept(assistant):
    events = await turn(assistant, "", photo("red"), photo("blue"))
    assert len(events[0].message.photos) == 2
    again = await turn(assistant, "", photo("red"))
    assert again[0].message.photos[0] == events[0].message.photos[0]


async def test_everything_is_there_after_a_restart_and_pending_updates_resume(tmp_path, clock):
    policy = ScriptedPolicy()
    settings = load_settings(data_dir=tmp_path)
    remember(policy, ChatModelError("The server is gone."))
    async with Assistant.open(settings, policy=policy, clock=clock) as assistant:
        events = await turn(assistant, "Anna likes tea", photo("red"))
        before = assistant.messages(assistant.local_owner, events[0].message.conversation_id)
    policy = ScriptedPolicy()
    remember(policy, of_this_turn(AddMemory, text="Anna likes tea", photos=(1,)))
    async with Assistant.open(settings, policy=policy, clock=clock) as assistant:
        await turn(assistant, "Hello")
        assert assistant.messages(assistant.local_owner, events[0].message.conversation_id) == before
        [entry] = assistant.memory(assistant.local_owner).entries()
        assert entry.photo_ids == before[0].photos


async def test_what_was_replaced_stays_explained_until_it_is_forgotten(assistant, policy):
    owner = assistant.local_owner
    await told_about_bobo(assistant, policy)
    remember(policy, of_this_turn(ReplaceMemory, memory_id=1, text="Bobo loves the red ball.", reason="corrected"))
    [finished] = only(ReplyFinished, await turn(assistant, "Actually Bobo loves the red ball"))
    [replacement] = assistant.explanation(owner, finished.message.message_id).changes
    assert (replacement.changed.previous.text, replacement.changed.entry.text) == (
        "Bobo loves the blue ball.",
        "Bobo loves the red ball.",
    )
    [first] = assistant.explanation(owner, 2).changes
    assert first.changed.entry.text == "Bobo loves the blue ball."

    remember(policy, of_this_turn(DeleteMemory, memory_id=2, reason="the user asked"))
    [forgot] = only(ReplyFinished, await turn(assistant, "Forget that Bobo loves the red ball"))
    assert assistant.memory(owner).entries() == []
    assert assistant.explanation(owner, finished.message.message_id).changes == ()
    assert assistant.explanation(owner, 2).changes == ()
    [forgetting] = assistant.explanation(owner, forgot.message.message_id).changes
    assert (forgetting.changed.change, forgetting.changed.previous) == ("forgotten", None)


async def test_each_change_can_be_undone_and_twice_does_no_harm(assistant, policy):
    owner, bank = assistant.local_owner, assistant.memory(assistant.local_owner)
    await told_about_bobo(assistant, policy)
    remember(policy, of_this_turn(ReplaceMemory, memory_id=1, text="Bobo loves the red ball.", reason="corrected"))
    await turn(assistant, "Actually Bobo loves the red ball")
    remember(policy, of_this_turn(DeleteMemory, memory_id=2, reason="the user asked"))
    await turn(assistant, "Forget that Bobo loves the red ball")
    for reply_id, left in ((6, ["Bobo loves the red ball."]), (4, ["Bobo loves the blue ball."]), (2, [])):
        assert assistant.undo(owner, reply_id, 0)
        assert not assistant.undo(owner, reply_id, 0)
        assert [entry.text for entry in bank.entries()] == left
        [change] = assistant.explanation(owner, reply_id).changes
        assert change.undone
    assert await asyncio.to_thread(verify, assistant.stores) == []
    with pytest.raises(LookupError):
        assistant.undo(owner, 2, 7)


async def test_the_user_may_put_the_new_in_the_place_of_a_rival(assistant, policy):
    owner, bank = assistant.local_owner, assistant.memory(assistant.local_owner)
    await told_about_bobo(assistant, policy)
    remember(policy, of_this_turn(AddMemory, text="Bobo loves the red ball.", rivals=(1,)))
    [added] = only(MemoryChanged, await turn(assistant, "Bobo loves the red ball"))
    assert [rival.memory_id for rival in added.rivals] == [1]
    assert [change.change for change in assistant.choose(owner, 4, 0, 1)] == ["replaced"]
    assert assistant.choose(owner, 4, 0, 1) == []
    assert [entry.text for entry in bank.entries()] == ["Bobo loves the red ball."]
    kept, replaced = assistant.explanation(owner, 4).changes
    assert kept.changed.rivals == () and replaced.changed.previous.text == "Bobo loves the blue ball."
    assert assistant.undo(owner, 4, replaced.number)
    assert len(bank.entries()) == 2


async def test_the_user_forgets_one_of_those_that_a_turn_asked_about(assistant, policy):
    owner, bank = assistant.local_owner, assistant.memory(assistant.local_owner)
    await told_about_bobo(assistant, policy)
    remember(policy, of_this_turn(AddMemory, text="Bobo loves the red ball."))
    await turn(assistant, "Bobo loves the red ball")
    asking = [
        of_this_turn(DeleteMemory, memory_id=memory_id, reason="the user asked", asks=True) for memory_id in (1, 2)
    ]
    remember(policy, *asking)
    changed = only(MemoryChanged, await turn(assistant, "I never told you about Bobo"))
    assert [(change.change, change.previous.memory_id) for change in changed] == [("asked", 1), ("asked", 2)]
    assert bank.entries() == [] and set(bank.asked()) == {1, 2}
    assert [change.change for change in assistant.choose(owner, 6, 1, 2)] == ["forgotten"]
    assert assistant.choose(owner, 6, 0, 1) == [] and [entry.memory_id for entry in bank.entries()] == [1]
    returned, forgotten = assistant.explanation(owner, 6).changes
    assert (returned.changed.change, returned.undone, forgotten.changed.change) == ("asked", True, "forgotten")
    assert await asyncio.to_thread(verify, assistant.stores) == []


async def test_a_policy_chooses_whether_distant_memories_are_left_out(assistant, policy):
    await told_about_bobo(assistant, policy)
    far = "the price of copper in Antofagasta"
    assert assistant.memory(assistant.local_owner).search(Query(far)) == []  # as `m2a memory search` asks
    for judges_hits, hit_count in ((False, 0), (True, 1)):
        policy.judges_hits = judges_hits
        recall(policy, SearchSemanticMemories(query=far), Finish())
        [searched] = only(MemorySearched, await turn(assistant, "What does copper cost?"))
        assert len(searched.hits) == hit_count
