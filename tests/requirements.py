"""What a test needs beyond Python.

A test is skipped if an installable program is missing, and fails with `M2A_REQUIRE_ALL=1`. Third-party data sets are in no
checkout: a test that needs one is skipped without it, and pytest names each such test at the end.
"""

import os
from pathlib import Path

import pytest

SHARED = Path(__file__).parents[2] / "shared" / "data"
DREAMBOOTH = SHARED / "dreambooth"


def missing(name: str) -> None:
    if os.environ.get("M2A_REQUIRE_ALL") == "1":
        pytest.fail(f"{name} is missing, and M2A_REQUIRE_ALL=1 says that it must be there.")
    pytest.skip(f"{name} is not installed.")


def needs(*data: Path) -> pytest.MarkDecorator:
    """Marks a test that reads these files or folders."""
    absent = [str(path) for path in data if not path.exists()]
    return pytest.mark.skipif(bool(absent), reason=f"Not on this machine: {', '.join(absent)}")
