import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
import pytest_asyncio

from m2a import Assistant
from m2a.agents.offline.learned import learned
from m2a.agents.offline.sense import Sense
from m2a.agents.policy import Policy
from m2a.memory.bank import MemoryBank
from m2a.memory.database import Database
from m2a.memory.index import MemoryIndex
from m2a.memory.owners import owner_named
from m2a.settings import Settings, load_settings
from m2a.systems.shared import SharedStores
from m2a.ui.gradio_start import without_interface_files
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.browser import chromium, playwright, server, shoot, visit  # noqa: F401
from tests.chat_server import ChatServer, Reply, Script
from tests.dialogues import stores_in
from tests.offline_talk import Talk, offline_talks
from tests.opened_folder import fill
from tests.postgres import cleared, emptied, postgres_server, second_database
from tests.scripted_policy import ScriptedPolicy
from tests.told_memory import Memory, index_in
from tests.turns import Clock

without_interface_files()

# One process runs a file, so the longest files decide when the last process ends, unless they begin first.
LONGEST = (
    "test_page", "test_offline_rules", "test_integrity", "test_chat_faults", "test_cli", "test_grammar", "test_browser_story",
    "test_model_prompts", "test_browser_temporary", "test_model_generator", "test_photo_store",
)  # fmt: skip
# These import torch and what stands on it, which takes seconds: last and side by side, one or two processes run them all.
LAST = ("test_text_encoder", "test_image_encoder", "test_transformers_chat_model", "test_tune", "test_metrics")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {name: place - len(LONGEST) for place, name in enumerate(LONGEST)}
    places |= {name: place for place, name in enumerate(LAST, start=1)}
    items.sort(key=lambda item: places.get(item.path.stem, 0))  # which keeps the order within a file


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


@pytest.fixture
def policy() -> ScriptedPolicy:
    return ScriptedPolicy()


@pytest.fixture
def nothing_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Removes the machine's variables and moves to an empty folder."""
    for name in Settings.model_fields:
        monkeypatch.delenv(f"M2A_{name.upper()}", raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def assistant(tmp_path: Path, policy: ScriptedPolicy, clock: Clock) -> AsyncIterator[Assistant]:
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=clock) as opened:
        yield opened


class _OfTheTest:
    """Passes everything on to the policy or the clock of the test that runs."""

    current: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.current, name)

    def __call__(self) -> Any:
        return self.current()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def module_assistant(
    tmp_path_factory: pytest.TempPathFactory,
) -> AsyncIterator[tuple[Assistant, _OfTheTest, _OfTheTest]]:
    settings, policy, clock = load_settings(data_dir=tmp_path_factory.mktemp("shared")), _OfTheTest(), _OfTheTest()
    clock.current = Clock()
    async with Assistant.open(settings, policy=cast(Policy, policy), clock=clock) as opened:
        yield opened, policy, clock


@pytest.fixture
def shared_assistant(
    module_assistant: tuple[Assistant, _OfTheTest, _OfTheTest], policy: ScriptedPolicy, clock: Clock
) -> Assistant:
    """The module's assistant, with a new user and with this test's policy and clock."""
    assistant, module_policy, module_clock = module_assistant
    module_policy.current, module_clock.current = policy, clock
    assistant.local_owner = owner_named(assistant.stores.database, uuid4().hex)
    return assistant


@pytest.fixture
def bank(assistant: Assistant) -> MemoryBank:
    return assistant.memory(assistant.local_owner)


@pytest.fixture(scope="module")
def module_index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryIndex]:
    opened = index_in(tmp_path_factory.mktemp("index"))
    yield opened
    opened.close()


@pytest.fixture
def index(module_index: MemoryIndex) -> Iterator[MemoryIndex]:
    """An empty index, whose process runs for the whole module: starting one takes longer than most tests."""
    yield module_index
    module_index.drop()


@pytest.fixture
def memory(database: Database, owner: str, tmp_path: Path, index: MemoryIndex) -> Memory:
    return Memory(database, owner, tmp_path, index)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedStores]:
    """What the memory systems of a module's tests share, because each system gets a memory of its own."""
    opened = stores_in(tmp_path_factory.mktemp("stores"))
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def filled_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    fill(folder)
    return folder


@pytest.fixture
def folder(filled_folder: Path, tmp_path: Path) -> Path:
    """A copy of the filled data folder."""
    return Path(shutil.copytree(filled_folder, tmp_path / "data"))


@pytest.fixture
def serve() -> Iterator[Callable[[Script | Reply], ChatServer]]:
    """Starts chat servers, which end with the test."""
    with ExitStack() as servers:
        yield lambda script: servers.enter_context(ChatServer(script))


@pytest.fixture(scope="session")
def sense() -> Sense:
    """What the rules without a model have learned."""
    encoder = load_text_encoder(MINILM, cache_dir())
    return Sense(encoder, learned(encoder))
