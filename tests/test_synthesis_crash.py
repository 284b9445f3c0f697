"""Five trials; `python -m tests.synthesis_crash --trials 30` does more."""

from pathlib import Path

from tests.synthesis_crash import run_trials


def test_a_synthesis_that_is_killed_and_resumed_makes_the_same_set(tmp_path: Path) -> None:
    result = run_trials(tmp_path, trials=5, seed=20261121, kills_each=1)
    print("\n".join(result.lines()))
    assert not result.faults, "\n".join(result.lines())
    assert result.trials == result.kills == 5
