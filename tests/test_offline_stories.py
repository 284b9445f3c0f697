"""The stories for the offline rules: their file, how they are scored, and how the rules do on those never learned from."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.corpus import STORIES
from tests.offline_cases import false_quotations, play, read_sets, score

PLAYED = "ad"  # the last of the test split; `python -m tests.bench offline` plays all six
# About two standard errors below what the whole split reaches.
RECALL = {"keeping": 0.95, "correcting": 0.7, "answering": 0.65, "declining": 0.7}
PRECISION = {"keeping": 0.95, "answering": 0.65, "declining": 0.7}
TURN = {"set": "s", "split": "test", "opened": None, "story": "one", "said_at": "2026-05-04T18:20:00+00:00"}


def written(folder: Path, *turns: dict[str, Any]) -> Path:
    path = folder / "stories.jsonl"
    path.write_text("".join(json.dumps(TURN | turn) + "\n" for turn in turns), encoding="utf-8")
    return path


def test_the_rules_do_well_on_stories_that_nothing_was_learned_from() -> None:
    played = asyncio.run(play(read_sets(split="test")[PLAYED].stories))
    assert not false_quotations(played)
    result = score(played)
    for rates, bars in ((result.recall, RECALL), (result.precision, PRECISION)):
        for behaviour, bar in bars.items():
            rate = rates[behaviour]
            assert rate.of >= 10 and rate.right >= bar * rate.of, (behaviour, str(rate))
    corrected = result.precision["correcting"]
    assert corrected.of - corrected.right <= 1, "what is no correction removes nothing, and is tied to nothing"
    assert result.invented <= 3


def test_no_text_of_the_test_split_is_in_the_train_split() -> None:
    def texts(split: Any) -> set[str]:
        sets = read_sets(split=split).values()
        return {
            turn.text
            for story_set in sets
            for story in story_set.stories
            for turn in story.turns
            if turn.keep or turn.accept
        }

    assert texts("test") and texts("train") and not texts("test") & texts("train")


def test_every_line_of_the_stories_holds_what_its_kind_is_scored_by() -> None:
    needed = {"statement": {"keep"}, "correction": {"keep", "gone"}, "question": {"accept"}}
    sets, ids = read_sets(), []
    for line in STORIES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        assert needed.get(row["kind"], set()) <= set(row), row
        ids.append((row["set"], row["id"]))
    assert (
        len(ids) == len(set(ids)) == sum(len(story.turns) for story_set in sets.values() for story in story_set.stories)
    )


def test_a_set_is_of_one_split(tmp_path: Path) -> None:
    turn = {"id": "1", "kind": "chit_chat", "text": "thanks"}
    path = written(tmp_path, turn, turn | {"id": "2", "split": "train"})
    with pytest.raises(ValueError, match="set 's'"):
        read_sets(path)


def test_keeping_answering_and_inventing_are_counted_turn_by_turn(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {"id": "1", "kind": "statement", "text": "My cat is called Miso", "keep": [["miso"]]},
        {"id": "2", "kind": "question", "text": "What's my cat called?", "accept": [["pip"]]},
        {"id": "3", "kind": "never_said", "text": "What's my cat called?"},
        {"id": "4", "kind": "question", "text": "What is my cat called?", "accept": [["miso"]]},
        {"id": "5", "kind": "question", "text": "Which colour is my cat?", "accept": [["miso"]]},
    )
    result = score(asyncio.run(play(read_sets(path)["s"].stories)))
    assert str(result.recall["keeping"]) == "1.00 (1/1)"
    assert str(result.recall["answering"]) == "0.67 (2/3)"
    assert str(result.outright) == "0.33 (1/3)", "the nearest memory of a decline is no answer outright"
    assert result.invented == 1
