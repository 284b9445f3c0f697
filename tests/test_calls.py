"""What a turn costs in calls of a language model, as a small run of the bench counts it."""

import asyncio
from pathlib import Path

from tests.bench.calls import POLICIES, TURNS, Cost, measure, table

OTHERS = 40


def costs_of(folder: Path, policy: str) -> list[Cost]:
    costs, _apart = asyncio.run(measure(folder, POLICIES[policy], others=OTHERS))
    assert [cost.recall for cost in costs if cost.turn.needs] == [1.0] * 5, "the evidence was put before the reply"
    return costs


def test_a_reply_takes_one_call_and_one_for_each_search_and_an_update_two_at_most(tmp_path: Path) -> None:
    costs = costs_of(tmp_path, "default")
    looks = {"asks further": 1}
    assert [cost.to_first_word for cost in costs] == [1 + looks.get(turn.kind, 0) for turn in TURNS]
    updates = {"thanks": 0}
    assert [cost.updates for cost in costs] == [updates.get(turn.kind, 2 if turn.keeps else 1) for turn in TURNS]


def test_as_published_each_stage_is_asked_for_by_itself(tmp_path: Path) -> None:
    costs = costs_of(tmp_path, "as published")
    stages = {cost.turn.kind: [call.stage for call in cost.calls] for cost in costs}
    searched = ["manage query", "manage query"]
    assert stages["thanks"] == ["query", "generate", "update"]
    assert stages["tells"] == ["query", "generate", "update", *["manage update"] * 3, "consent"]
    assert stages["asks"] == ["query", *searched, "query", "generate", "update"]
    assert stages["asks further"] == ["query", "manage query", *searched, "query", "generate", "update"]
    rows = table({"as published": costs})
    assert rows[-1].startswith(f"| in all | {sum(cost.to_first_word for cost in costs)} |")
