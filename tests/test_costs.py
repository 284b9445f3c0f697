"""What a turn takes is kept with its reply, told below it, summed by day, and erased with it."""

from collections.abc import AsyncGenerator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

from m2a import Assistant
from m2a.agents.language_policy import LanguagePolicy
from m2a.agents.state import Decision, TurnState
from m2a.captioning import caption_photos
from m2a.memory import costs
from m2a.settings import load_settings
from m2a.types import Answer, Cost, CostSum, Erasure, Finish
from m2a.ui.costs import cost_html, days_html
from m2a.wiring import load_captioner
from models.chat_model import ChatModelError, TokenUsage
from models.load import load_chat_model
from tests.chat_server import ChatServer, replies, say, status
from tests.scripted_policy import ScriptedPolicy
from tests.told_memory import Memory, jpeg
from tests.turns import Clock, turn

NOON = datetime(2026, 3, 12, 12, tzinfo=UTC)


class CountingPolicy(ScriptedPolicy):
    """Every step is a call of a model that counts its tokens; `fails` is how often its update is out of order."""

    fails = 0

    async def decide(self, state: TurnState) -> Decision:
        if state.stage == "update" and self.fails:
            self.fails -= 1
            raise ChatModelError("The chat model is out of order.")
        return Decision(Answer() if state.stage == "query" else Finish(), TokenUsage(100, 10))

    async def reply(self, state: TurnState) -> AsyncGenerator[str | TokenUsage, None]:
        async for piece in super().reply(state):
            yield piece
        yield TokenUsage(1000, 200)


async def test_a_turn_keeps_what_its_answer_and_its_update_took(tmp_path: Path) -> None:
    settings = load_settings(data_dir=tmp_path, chat_model="openai:gpt-4o")
    async with Assistant.open(settings, policy=CountingPolicy(), clock=Clock()) as assistant:
        owner = assistant.local_owner
        reply = next(e.message for e in await turn(assistant, "My tea is green.") if hasattr(e, "sources"))
        [answer, update] = assistant.memory(owner).replies.costs_of([reply.message_id])[reply.message_id]
        assert (answer.stage, answer.calls, answer.input_tokens, answer.output_tokens) == ("reply", 2, 1100, 210)
        assert answer.first_word is not None and 0 < answer.first_word <= answer.seconds
        assert answer.dollars is not None and 0 < answer.dollars < 0.1
        assert (update.stage, update.calls, update.input_tokens, update.first_word) == ("update", 1, 100, None)
        [day], total = assistant.memory(owner).replies.daily_costs(days=1)
        assert (day.replies, day.calls, total.input_tokens, total.unpriced) == (1, 3, 1200, 0)
        await assistant.erase(owner, Erasure("message", reply.message_id - 1))
        assert (
            assistant.memory(owner).replies.costs_of([reply.message_id]) == {}
            and assistant.memory(owner).replies.daily_costs(days=1)[0] == []
        )


async def test_an_update_that_is_tried_again_costs_both_times_and_without_a_model_it_is_seconds(tmp_path: Path) -> None:
    policy = CountingPolicy()
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock()) as assistant:
        policy.fails = 1
        first = next(e.message for e in await turn(assistant, "My tea is green.") if hasattr(e, "sources"))
        [_, failed] = assistant.memory(assistant.local_owner).replies.costs_of([first.message_id])[first.message_id]
        await turn(assistant, "And my coffee is black.")
        [_, cost] = assistant.memory(assistant.local_owner).replies.costs_of([first.message_id])[first.message_id]
        assert (failed.calls, cost.calls) == (0, 1) and cost.seconds > failed.seconds > 0
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=ScriptedPolicy(), clock=Clock()) as assistant:
        reply = next(e.message for e in await turn(assistant, "Hello.") if hasattr(e, "sources"))
        costs = assistant.memory(assistant.local_owner).replies.costs_of([reply.message_id])[reply.message_id]
        assert [(cost.calls, cost.dollars) for cost in costs] == [(0, None), (0, None)]
        html = cost_html(costs, key="m2")
        assert "No language model" in html and "Tokens" not in html and "First word" in html


def test_costs_are_summed_by_the_days_of_the_user_and_unknown_is_not_nothing(memory: Memory) -> None:
    owner = memory.bank.owner
    replies = [memory.say(f"Message {number}.")[1].message_id for number in range(3)]
    zone = timezone(timedelta(hours=5, minutes=45))
    with memory.database.write(owner) as unit:
        costs.note(unit, replies[0], Cost("reply", 2.0, 1.0, 1, 100, 20, 0.5), NOON)
        costs.note(unit, replies[0], Cost("update", 3.0, None, 1, None, None), NOON)
        costs.note(unit, replies[0], Cost("update", 1.0, None, 2, 5, 5, 0.1), NOON)
        costs.note(unit, replies[1], Cost("reply", 1.0, 0.5), NOON + timedelta(hours=6, minutes=15))
        costs.note(unit, replies[2], Cost("reply", 1.0, 0.5), NOON - timedelta(days=40))
        days = costs.by_day(unit, zone, since=date(2026, 3, 1))
        total = costs.total(unit)
        kept = costs.costs_of(unit, replies)
    assert kept[replies[0]][1] == Cost("update", 4.0, None, 3, None, None, None)
    assert days == [
        CostSum(date(2026, 3, 13), 1, 1.0, 0, 0, 0, 0.0),
        CostSum(date(2026, 3, 12), 1, 6.0, 4, 100, 20, 0.5, uncounted=3, unpriced=3),
    ]
    assert (total.replies, total.seconds, total.dollars) == (3, 8.0, 0.5)
    html = days_html(days, total, today=date(2026, 3, 13))
    assert "$0.5000" in html and "3 calls had no known price" in html and "Yesterday" in html
    assert "Nothing yet" in days_html([], costs.CostSum(None, 0, 0, 0, 0, 0, 0), today=NOON.date())


async def test_captions_cost_with_the_turn_that_first_showed_the_photo(memory: Memory) -> None:
    message, reply = memory.say("This is my teapot.", photos=[jpeg("red")])
    memory.say("The teapot again.", photos=[jpeg("red")])
    memory.bank.replies.note_cost(reply.message_id, Cost("update", 1.0, None, 1, 100, 10, 0.25))
    with ChatServer(replies(say("A red teapot.", usage=(500, 12)), status(500))) as server:
        model = load_chat_model("openai:any", base_url=server.base_url, sees_photos=True)
        captioner = load_captioner(LanguagePolicy(model))
        await caption_photos(memory.bank, captioner, lambda read, written: (read + written) / 1024)
        assert (
            memory.bank.photos.captions(message.photos) == {message.photos[0]: "A red teapot."}
            and len(server.requests) == 1
        )
    [update] = memory.bank.replies.costs_of([reply.message_id])[reply.message_id]
    assert (update.calls, update.input_tokens, update.output_tokens, update.dollars) == (2, 600, 22, 0.75)
    unanswered = memory.bank.record(None, role="user", speaker="You", text="Another", photos=[jpeg("blue")])
    memory.bank.replies.note_caption_cost(unanswered.photos[0], Cost("update", 1.0, None, 1, 400, 8, 0.5))
    total = memory.bank.replies.daily_costs(1)[1]
    assert (total.calls, total.input_tokens, total.dollars) == (3, 1000, 1.25)
    memory.bank.erase(Erasure("everything"))
    assert memory.bank.replies.daily_costs(1)[1].calls == 0


def test_what_a_turn_took_is_erased_with_its_message_and_with_everything(memory: Memory) -> None:
    message, reply = memory.say("My PIN is 4471.")
    memory.bank.replies.note_cost(reply.message_id, Cost("update", 1.0))
    memory.bank.erase(Erasure("message", message.message_id))
    assert memory.bank.replies.costs_of([2]) == {}
    memory.bank.replies.note_cost(2, Cost("update", 1.0))  # an update that was under way
    assert memory.bank.replies.costs_of([2]) == {}
    memory.bank.erase(Erasure("everything"))
    assert memory.bank.replies.daily_costs(1)[1].seconds == 0
