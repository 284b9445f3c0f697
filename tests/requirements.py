"""What a test needs beyond Python: skipped where it is missing, a failure where `M2A_REQUIRE_ALL=1` says it must be there."""

import os

import pytest


def missing(what: str) -> None:
    if os.environ.get("M2A_REQUIRE_ALL") == "1":
        pytest.fail(f"{what} is missing, and M2A_REQUIRE_ALL=1 says that it must be there.")
    pytest.skip(f"{what} is not installed.")
