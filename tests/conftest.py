from collections.abc import Iterator
from pathlib import Path

import pytest

from m2a.memory.database import Database
from m2a.memory.owners import owner_named
from m2a.ui.gradio_start import without_interface_files
from tests.browser import chromium, playwright, server, shoot, visit  # noqa: F401
from tests.postgres import emptied, postgres_server

without_interface_files()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """The address of an empty PostgreSQL database, the same for every test: making one takes longer than most tests."""
    return emptied(postgres)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A fresh database of either kind."""
    is_sqlite = request.param == "sqlite"
    opened = Database(f"sqlite:///{tmp_path / 'memory.db'}" if is_sqlite else request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


@pytest.fixture
def owner(database: Database) -> str:
    return owner_named(database, "anna")
