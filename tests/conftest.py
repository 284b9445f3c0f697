from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from m2a.memory.database import Database
from m2a.memory.owners import owner_named
from m2a.ui.gradio_start import without_interface_files
from tests.browser import chromium, playwright, server, shoot, visit  # noqa: F401
from tests.offline_talk import Talk, offline_talks
from tests.postgres import cleared, emptied, postgres_server, second_database

without_interface_files()

# One process runs a file, so the longest files decide when the last process ends, unless they begin first.
LONGEST = (
    "test_page", "test_offline_rules", "test_integrity", "test_chat_faults", "test_cli", "test_grammar", "test_browser_story",
    "test_model_prompts", "test_browser_temporary", "test_model_generator", "test_photo_store",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path.stem, len(LONGEST)))  # which keeps the order within a file


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgres_server() as url:
        yield url


@pytest.fixture
def postgres_url(postgres: str) -> str:
    """The address of a PostgreSQL database without tables, the same for every test."""
    return emptied(postgres)


@pytest.fixture(scope="session")
def postgres_tables(postgres: str) -> str:
    """The address of a PostgreSQL database with the tables of a memory: making them takes longer than most tests."""
    return second_database(postgres)


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A fresh database of either kind."""
    if request.param == "sqlite":
        opened = Database(f"sqlite:///{tmp_path / 'memory.db'}")
    else:
        opened = Database(cleared(request.getfixturevalue("postgres_tables")))
    yield opened
    opened.close()


@pytest.fixture
def owner(database: Database) -> str:
    return owner_named(database, "anna")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def talks(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Callable[[], Talk]]:
    """The module's assistant without a language model. Its tests are marked with the module's event loop."""
    async with offline_talks(tmp_path_factory.mktemp("offline")) as talks:
        yield talks


@pytest.fixture
def talk(talks: Callable[[], Talk]) -> Talk:
    return talks()
