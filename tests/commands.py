"""Runs the command `m2a`, in a process of its own or in this one."""

import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import pytest

from m2a import cli

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 60


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def sentence(self) -> str:
        """The message of a failure: one line on standard error, and nothing on standard output."""
        assert self.code not in (0, None) and self.out == "", self
        [line] = self.err.splitlines()
        assert line.startswith("m2a: ") and line.endswith((".", "?", "!")), line
        return line.removeprefix("m2a: ")


def environment(data: Path, **settings: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("M2A_")}
    return clean | {"M2A_DATA_DIR": str(data)} | settings


def m2a(data: Path, *words: str | Path, typed: str = "", **settings: str) -> Done:
    """Runs the command in a process of its own, with `typed` as its standard input."""
    result = subprocess.run(
        [sys.executable, "-m", "m2a.cli", *map(str, words)],
        cwd=ROOT,
        env=environment(data, **settings),
        input=typed,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    return Done(result.returncode, result.stdout, result.stderr)


def quick(data: Path, *words: str | Path, typed: str = "", **settings: str) -> Done:
    """Runs the command in this process, which saves the seconds that Python takes to start."""
    out, err = StringIO(), StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        for name in os.environ.keys() - environment(data).keys():
            patch.delenv(name)
        for name, value in environment(data, **settings).items():
            patch.setenv(name, value)
        patch.setattr(sys, "argv", ["m2a", *map(str, words)])
        patch.setattr(sys, "stdin", StringIO(typed))
        with pytest.raises(SystemExit) as ended:
            cli.main()
    code = ended.value.code
    if isinstance(code, str):  # as Python itself does at the end
        return Done(1, out.getvalue(), err.getvalue() + code + "\n")
    return Done(code or 0, out.getvalue(), err.getvalue())
