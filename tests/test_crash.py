"""Nine kills; `python -m tests.crash --trials 200` does more."""

from pathlib import Path

from tests.crash import run_trials


def test_nothing_acknowledged_is_lost_undone_or_done_twice_by_kill_9(tmp_path: Path) -> None:
    result = run_trials(tmp_path / "memory", trials=9, seed=20261112)
    print("\n".join(result.lines()))
    assert result.is_clean, "\n".join(result.lines())
    assert not result.log
    assert result.last.replies > 3 and result.last.photos > 2 and result.last.deletions > 0
