"""Received answers, costs and budgets."""

import asyncio
from pathlib import Path

import pytest

from data_synthesis.answer_store import Answer, AnswerStore
from data_synthesis.costs import BudgetReachedError, Costs
from data_synthesis.group import SynthesisError
from models.prices import per_million


def test_an_answer_is_on_the_disk_before_it_is_used_and_never_asked_for_again(tmp_path: Path) -> None:
    calls = []

    async def ask() -> Answer:
        calls.append(sorted(file.suffix for file in tmp_path.iterdir()))
        return Answer("rubbish {", 10, None)

    async def twice() -> tuple[Answer, Answer]:
        store = AnswerStore(tmp_path)
        first, second = await asyncio.gather(store.get_or_ask("k", ask), store.get_or_ask("k", ask))
        return first, second

    assert asyncio.run(twice()) == (Answer("rubbish {", 10, None),) * 2
    reopened = AnswerStore(tmp_path)
    assert asyncio.run(reopened.get_or_ask("k", ask)).text == "rubbish {"
    assert calls == [[".asked"]] and [file.name for file in tmp_path.iterdir()] == ["k.json"]
    assert (reopened.costs.answers, reopened.costs.uncounted, reopened.repeated) == (1, 1, 0)


def test_a_call_lost_at_a_kill_is_counted_as_repeated_and_a_failed_one_is_not(tmp_path: Path) -> None:
    async def hang() -> Answer:
        await asyncio.Event().wait()
        raise AssertionError

    async def fail() -> Answer:
        raise SynthesisError("The server is down.")

    async def answer() -> Answer:
        return Answer("good", 1, 1)

    async def killed() -> None:
        task = asyncio.create_task(AnswerStore(tmp_path).get_or_ask("k", hang))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(killed())
    with pytest.raises(SynthesisError):
        asyncio.run(AnswerStore(tmp_path).get_or_ask("other", fail))
    store = AnswerStore(tmp_path)
    assert asyncio.run(store.get_or_ask("k", answer)).text == "good"
    assert asyncio.run(store.get_or_ask("other", answer)).text == "good"
    assert store.repeated == AnswerStore(tmp_path).repeated == 1


def test_a_damaged_answer_is_named(tmp_path: Path) -> None:
    (tmp_path / "k.json").write_text("{", encoding="utf-8")
    with pytest.raises(SynthesisError, match=r"k\.json is damaged; delete it"):
        AnswerStore(tmp_path)


def test_an_unknown_price_is_said_and_never_nothing() -> None:
    costs = Costs()
    costs.add(1000, 500)
    assert costs.spent is None and str(costs) == "1000 + 500 tokens, price not known"
    with pytest.raises(SynthesisError, match="price of the chat model is not known"):
        Costs(budget=5)
    counted = Costs(per_million(1, 1), budget=5)
    counted.add(None, None)
    with pytest.raises(BudgetReachedError, match="does not count its tokens"):
        counted.begin()
