"""Places and dates, and weaving into the host."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from data_synthesis.group import SynthesisError
from data_synthesis.group_records import WovenGroup
from data_synthesis.interpolation import unweave, weave
from data_synthesis.placement import place_groups, session_times
from data_synthesis.plan import Plan, plan_run
from data_synthesis.retrieval_questions import retrieval_questions
from m2a.benchmarks.locomo import dialogue_of, parse_date_time
from tests.synthesis_runs import SHARED, drawn_concepts, needs_shared, small_locomo  # noqa: F401
from tests.tiny_generator import TinyGenerator


def test_times_follow_equation_7_to_the_minute() -> None:
    start = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    times = session_times(start, start + timedelta(days=7), 6)
    assert times == tuple(start + timedelta(days=j) for j in range(1, 7))
    for count, minutes in ((5, 7), (6, 100), (5, 8641)):
        end = start + timedelta(minutes=minutes)
        for number, moment in enumerate(session_times(start, end, count), start=1):
            exact = start + number / (count + 1) * (end - start)
            assert abs(moment - exact) <= timedelta(seconds=30) and moment.second == 0
    with pytest.raises(SynthesisError, match="no room for 6 sessions"):
        session_times(start, start + timedelta(minutes=4), 6)


def test_places_are_gaps_of_their_own_with_a_day_between_sessions() -> None:
    start = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
    days = (0, 3, 10, 11, 17, 60)
    host = [(number, start + timedelta(days=day)) for number, day in enumerate(days, start=1)]
    for seed in range(30):
        placements = place_groups(host, 3, seed=seed, dialogue_id="conv-1")
        assert sorted(placement.after for placement in placements) == [2, 4, 5]
        for placement in placements:
            times = (placement.start, *placement.times, placement.end)
            assert all(later - earlier >= timedelta(hours=23) for earlier, later in pairwise(times))
            assert len(placement.times) == 5 or placement.after != 4  # six days have room for five
    with pytest.raises(SynthesisError, match=r"conv-1 has 3 gaps of 6 days or more .* 4 groups need one each"):
        place_groups(host, 4, seed=1, dialogue_id="conv-1")


def woven(plan: Plan, number: int = 0) -> tuple[dict[str, Any], dict[str, Any]]:
    requests = plan.requests[number]
    groups = [asyncio.run(TinyGenerator().generate(request)) for request in requests]
    whole = [
        replace(g, questions=(*g.questions, *retrieval_questions(r, g.sessions)))
        for r, g in zip(requests, groups, strict=True)
    ]
    parts = [WovenGroup(r, g, "tiny", "drawn-vqa") for r, g in zip(requests, whole, strict=True)]
    return weave(plan.samples[number], parts, lambda photo: f"photos/{photo.parent.name}-{photo.name}")


def test_everything_of_the_host_is_kept_and_follows_its_sessions(concepts: Path, locomo: Path) -> None:
    plan = plan_run(locomo, concepts, groups=2, seed=2)
    host, (sample, id_map) = plan.samples[0], woven(plan)
    before, after = dialogue_of(host, locomo.parent), dialogue_of(sample, locomo.parent)
    assert [s.started_at for s in after.sessions] == sorted({s.started_at for s in after.sessions})
    assert [session.reference for session in after.sessions] == [f"D{n}" for n in range(1, len(after.sessions) + 1)]
    turns = {turn.reference: turn for turn in after.turns}
    for turn in before.turns:
        assert replace(turns[id_map["turns"][turn.reference]], reference=turn.reference) == turn
    texts = {turn.reference: turn.text for turn in before.turns}
    new_texts = {turn.reference: turn.text for turn in after.turns}
    for old, new in zip(before.questions, after.questions, strict=False):
        assert (old.text, old.answer, old.category) == (new.text, new.answer, new.category)
        assert [texts[reference] for reference in old.evidence] == [new_texts[reference] for reference in new.evidence]
        assert len(old.dropped_evidence) == len(new.dropped_evidence)
    last = id_map["sessions"]["5"]
    conversation = sample["conversation"]
    orphan = f"session_{len(after.sessions) + 1}_date_time"
    assert conversation[orphan] == host["conversation"]["session_6_date_time"]
    assert sample["session_summary"][f"session_{last}_summary"] == "Session 5."
    assert sample["event_summary"][f"events_session_{last}"]["Ann"] == ["It is 5."]
    assert sample["observation"][f"session_{last}_observation"] == {
        "Ann": [["Ann said D1:1 aloud.", f"D{last}:1"], ["Ann went on.", [f"D{last}:2", f"D{last}:3"]]],
        "Ben": [["Ben too.", f"D{last}:1, D{last}:2"]],
    }
    assert plan.samples[0] == host and "groups" not in host


def test_inserted_sessions_are_where_and_when_they_were_placed(concepts: Path, locomo: Path) -> None:
    plan = plan_run(locomo, concepts, groups=2, seed=2)
    sample, id_map = woven(plan)
    for group, request in zip(sample["groups"], plan.requests[0], strict=True):
        first = id_map["sessions"][str(request.placement.after)] + 1
        assert group["sessions"] == list(range(first, first + len(request.placement.times)))
        for number, moment in zip(group["sessions"], request.placement.times, strict=True):
            assert parse_date_time(sample["conversation"][f"session_{number}_date_time"]) == moment
        turn = sample["conversation"][f"session_{first}"][2]
        assert turn["dia_id"] == f"D{first}:3" and turn["img_url"] == turn["photos"][:1]
    turns = {turn["dia_id"]: turn for turn in all_turns(sample)}
    added = [question for question in sample["qa"] if question["category"] >= 6]
    assert len({question["question_id"] for question in sample["qa"]}) == len(sample["qa"])
    for question in added:
        assert all(reference in turns for reference in question["evidence"])
        if question["category"] == 7:
            event = question["derivation"]["event"]
            assert event["expression"] in turns[event["turn"]]["text"]
        if question["category"] == 10:
            (photo,) = question["photos"]
            assert not any(photo in turn.get("photos", ()) for turn in turns.values())
            group = sample["groups"][question["group"] - 1]
            (concept,) = [concept for concept in group["concepts"] if photo in concept["unseen_photos"]]
            shown_photos = {shown for reference in question["evidence"] for shown in turns[reference].get("photos", ())}
            assert set(concept["photos"]) <= shown_photos


def all_turns(sample: dict[str, Any]) -> list[dict[str, Any]]:
    return [turn for value in sample["conversation"].values() if isinstance(value, list) for turn in value]


def test_taking_a_merged_sample_apart_gives_the_host_and_the_groups_back(concepts: Path, locomo: Path) -> None:
    plan = plan_run(locomo, concepts, groups=2, seed=2)
    sample, id_map = woven(plan)
    host, groups = unweave(sample, {new: int(old) for old, new in id_map["sessions"].items()})
    alone, _ = weave(plan.samples[0], (), str)
    assert host == unweave(alone, {number: number for number in range(1, 6)})[0]  # references in one spelling
    assert host["conversation"] == plan.samples[0]["conversation"]
    assert weave(host, groups, str) == (sample, id_map)


@needs_shared
def test_taking_locomo_apart_gives_it_back() -> None:
    plan = plan_run(SHARED / "locomo", SHARED / "dreambooth", groups=2, seed=1)
    for number, host in enumerate(plan.samples):
        sample, id_map = woven(plan, number)
        assert unweave(sample, {new: int(old) for old, new in id_map["sessions"].items()})[0] == host
