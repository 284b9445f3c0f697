"""After a purge no byte of what was erased is in any file; a crash between is finished by the next start."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

import m2a.assistant
from m2a import Assistant
from m2a.memory.audit import verify
from m2a.memory.database import Database, DatabaseError
from m2a.memory.index import MemoryIndex
from m2a.memory.owners import owner_named
from m2a.memory.photo_store import PhotoStore
from m2a.memory.purging import is_purge_due, purge
from m2a.settings import load_settings
from m2a.types import AddMemory, Erasure, Failed, MemoryChanged, ReplyFinished
from tests.erase_scan import bytes_under, scan
from tests.told_memory import index_in, jpeg
from tests.turns import Clock, of_this_turn, only, photo, remember, turn

PIN = "My bank PIN is qx4471zz."


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database whose tables no other test has filled."""
    is_sqlite = request.param == "sqlite"
    opened = Database(f"sqlite:///{tmp_path / 'memory.db'}" if is_sqlite else request.getfixturevalue("postgres_url"))
    yield opened
    opened.close()


@pytest.fixture
def index(tmp_path: Path) -> Iterator[MemoryIndex]:
    """An index in the test's own folder, whose bytes are read."""
    opened = index_in(tmp_path)
    yield opened
    opened.close()


def bytes_of_all_files(folder: Path, database: Database, request: pytest.FixtureRequest) -> bytes:
    """Returns the content of the data folder, and of the tables if the database is PostgreSQL's."""
    content = bytes_under(folder)
    if database.is_sqlite:
        return content
    url = request.getfixturevalue("postgres")
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("CHECKPOINT"))
        oid = connection.scalar(text("SELECT oid FROM pg_database WHERE datname = current_database()"))
    engine.dispose()
    return content + bytes_under(Path(url.partition("host=")[2].partition("&")[0]) / "data" / "base" / str(oid))


def test_no_byte_of_it_is_left_and_all_of_the_others(memory, tmp_path, request):
    for number in range(30):  # enough that pages split
        memory.tell(f"Note {number}: qxaa{number:03} is kept, and so is the {'word ' * 40}")
    memory.tell(PIN, "Noted: qx4471zz.", photos=[jpeg("red")])
    memory.bank.index()
    [photo_id] = memory.bank.messages([61])[61].photos
    assert b"qx4471zz" in bytes_under(tmp_path) or not memory.database.is_sqlite
    memory.bank.erase(Erasure("message", 61))
    assert purge(memory.stores, memory.now()) == 1 and not is_purge_due(memory.database)
    content = bytes_of_all_files(tmp_path, memory.database, request)
    assert b"qx4471zz" not in content and photo_id.encode() not in content
    assert all(f"qxaa{number:03}".encode() in content for number in range(30))
    assert verify(memory.stores) == [] and memory.found("Note 7 qxaa007")
    assert memory.bank.receipts()[0].purged_at is not None


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_no_statistics_are_left_of_a_table_that_is_now_empty(memory, tmp_path, request):
    server = create_engine(request.getfixturevalue("postgres"), isolation_level="AUTOCOMMIT")
    memory.tell(PIN, photos=[jpeg("red")])
    with server.connect() as connection:
        connection.execute(text("ANALYZE"))  # as autovacuum does whenever it likes, here before the outbox is emptied
    memory.bank.index()
    [photo_id] = memory.bank.messages([1])[1].photos
    memory.bank.erase(Erasure("everything"))
    purge(memory.stores, memory.now())
    content = bytes_of_all_files(tmp_path, memory.database, request)
    assert b"qx4471zz" not in content and photo_id.encode() not in content
    with server.connect() as connection:  # and the tables still work
        connection.execute(text("ANALYZE"))
    server.dispose()
    memory.tell("I like tea.")
    assert memory.found("tea")


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("table", ["message", "setting"])  # one that holds erased rows, and one that does not
def test_a_purge_beside_another_programs_transaction_is_not_done_and_says_so(memory, tmp_path, request, table):
    memory.tell(PIN)
    other = create_engine(request.getfixturevalue("postgres"), isolation_level="REPEATABLE READ")
    with other.connect() as connection:
        connection.execute(text(f"SELECT count(*) FROM {table}")).all()  # takes a snapshot before the rows are erased
        memory.bank.erase(Erasure("message", 1))
        with pytest.raises(DatabaseError, match="run `m2a purge` again"):
            purge(memory.stores, memory.now())
        assert is_purge_due(memory.database)
    other.dispose()
    purge(memory.stores, memory.now())
    assert b"qx4471zz" not in bytes_of_all_files(tmp_path, memory.database, request)


@pytest.mark.parametrize("cut_off", ["remove_files", "indexing", "purge"])
async def test_what_a_crash_cuts_off_the_next_start_finishes(tmp_path, policy, monkeypatch, cut_off):
    settings = load_settings(data_dir=tmp_path)

    def crash(*_arguments: object) -> None:
        raise KeyboardInterrupt

    async with Assistant.open(settings, policy=policy, clock=Clock()) as assistant:
        remember(policy, of_this_turn(AddMemory, text=PIN, photos=(1,)))
        await turn(assistant, PIN, photo("brown"))
        bank = assistant.memory(assistant.local_owner)
        if cut_off == "remove_files":
            monkeypatch.setattr(PhotoStore, "remove_files", crash)
            with pytest.raises(KeyboardInterrupt):
                bank.erase(Erasure("message", 1))
        else:
            bank.erase(Erasure("message", 1))  # the index is told later
        if cut_off == "purge":
            monkeypatch.setattr(Database, "purge", crash)
            with pytest.raises(KeyboardInterrupt):
                purge(assistant.stores, bank.receipts()[0].erased_at)
    monkeypatch.undo()
    async with Assistant.open(settings, policy=policy, clock=Clock()) as assistant:
        while is_purge_due(assistant.stores.database):
            await asyncio.sleep(0.05)
        assert verify(assistant.stores) == []
        assert not [path for path in (tmp_path / "photos").rglob("*") if path.is_file()]
        assert b"qx4471zz" not in bytes_under(tmp_path)


async def test_it_is_purged_every_day(tmp_path, policy, monkeypatch):
    monkeypatch.setattr(m2a.assistant, "PURGE_EVERY", 0.05)
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=policy, clock=Clock()) as assistant:
        await turn(assistant, PIN)
        (assistant.folder.uploads / "x").mkdir(parents=True)
        (assistant.folder.uploads / "x" / "photo.png").write_bytes(b"qx4471zz")
        await assistant.erase(assistant.local_owner, Erasure("everything"))
        while is_purge_due(assistant.stores.database):
            await asyncio.sleep(0.05)
        assert b"qx4471zz" not in bytes_under(tmp_path)


async def test_a_reply_to_what_is_erased_is_stopped_and_no_later_one_holds_it(assistant, policy):
    owner, other = assistant.local_owner, owner_named(assistant.stores.database, "berta")
    gate, begun = asyncio.Event(), asyncio.Event()
    quick = policy.reply

    async def reply(state):
        begun.set()
        if "slow" in state.message.text:
            yield "Your PIN qx4471zz "
            await gate.wait()
        async for piece in quick(state):
            yield piece

    policy.reply = reply
    await turn(assistant, "I like tea.")
    slow = asyncio.create_task(turn(assistant, f"slow {PIN}"))
    await begun.wait()
    while (
        number := max(
            m.message_id
            for c in assistant.memory(owner).conversations()
            for m in assistant.messages(owner, c.conversation_id)
        )
    ) < 3:
        await asyncio.sleep(0.01)
    events = [event async for event in assistant.turn(other, PIN)]
    receipt = await assistant.erase(owner, Erasure("message", number))
    await slow
    assert receipt.message_ids[0] == number and only(ReplyFinished, events)
    policy.seen.clear()
    await turn(assistant, "What is my PIN?")
    assert "qx4471zz" not in str(policy.seen)
    assert verify(assistant.stores) == []
    assert (
        next(
            m.text
            for c in assistant.memory(other).conversations()
            for m in assistant.messages(other, c.conversation_id)
        )
        == PIN
    )


async def test_what_is_erased_while_it_waits_is_not_answered(assistant, policy):
    owner = assistant.local_owner
    gate = asyncio.Event()
    quick = policy.reply

    async def reply(state):
        await gate.wait()
        async for piece in quick(state):
            yield piece

    policy.reply = reply
    first = asyncio.create_task(turn(assistant, "I like tea."))
    second = asyncio.create_task(turn(assistant, PIN))
    bank = assistant.memory(owner)
    while len(bank.messages([1, 2])) < 2:
        await asyncio.sleep(0.01)
    [number] = [m.message_id for m in bank.messages([1, 2]).values() if m.text == PIN]
    bank.erase(Erasure("message", number))
    gate.set()
    events = [*await first, *await second]
    assert [event.reason for event in only(Failed, events)] == [f"Message {number} was erased before it was answered."]
    assert "qx4471zz" not in str([m for c in bank.conversations() for m in bank.conversation(c.conversation_id)])


async def test_an_erasure_waits_for_an_update_and_takes_what_it_wrote(assistant, policy):
    gate, begun = asyncio.Event(), asyncio.Event()

    decide = policy.decide

    async def slowly(state):
        if state.stage == "update":
            begun.set()
            await gate.wait()
        return await decide(state)

    policy.decide = slowly
    remember(policy, of_this_turn(AddMemory, text=PIN))
    telling = asyncio.create_task(turn(assistant, PIN))
    await begun.wait()
    erasing = asyncio.create_task(assistant.erase(assistant.local_owner, Erasure("message", 1)))
    await asyncio.sleep(0)
    gate.set()
    receipt = await erasing
    assert only(MemoryChanged, await telling) and receipt.memory_ids == (1,)
    assert assistant.memory(assistant.local_owner).entries() == []


async def test_the_scan_finds_nothing_of_the_erased_and_all_of_the_others(tmp_path):
    result = await scan(tmp_path / "data", owners=4, erased=2, markers=10)
    assert result.left == [] and result.missing == [], result
    assert result.planted == result.before == 40 and result.faults == []
