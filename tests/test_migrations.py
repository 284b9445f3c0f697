"""No later version refuses an older memory, and nothing of it is lost."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, select, text, update

from m2a.memory import conversations
from m2a.memory.concept_store import concepts
from m2a.memory.database import Database, DatabaseError
from m2a.memory.owners import owner_named
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.restoration import restore_wrongly_replaced, wrongly_replaced
from m2a.memory.schema import SCHEMA_VERSION, entry_history, pending_update, setting, trace
from m2a.memory.semantic_memory_store import SemanticMemoryStore
from m2a.memory.version_1_forgettings import withhold_forgotten_entries
from m2a.memory.withheld import FORGOTTEN
from m2a.types import MemoryEntry
from tests.old_memory import old_postgres_memory, old_sqlite_memory
from tests.postgres import emptied
from tests.told_memory import Memory

NOW = datetime(2026, 4, 1, tzinfo=UTC)
SEMANTIC = SemanticMemoryStore()


@pytest.fixture(params=["sqlite", "postgresql"])
def old_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Returns the address of a database with schema version 1."""
    folder = tmp_path / "old"
    if request.param == "sqlite":
        return old_sqlite_memory(folder)
    return old_postgres_memory(folder, request.getfixturevalue("postgres_url"))


@pytest.fixture
def old(old_url: str) -> Iterator[Database]:
    database = Database(old_url)
    withhold_forgotten_entries(database)
    yield database
    database.close()


def living(database: Database, owner: str) -> dict[int, MemoryEntry]:
    with database.read(owner) as unit:
        return {entry.memory_id: entry for entry in SEMANTIC.all(unit)}


def shape(url: str) -> dict[str, object]:
    """Returns all parts of the schema, in a form in which two databases can be compared."""
    engine = create_engine(url)
    with engine.connect() as connection:
        inspector = inspect(connection)
        tables: dict[str, object] = {
            table: (
                {column["name"]: (str(column["type"]), column["nullable"], column["default"]) for column in columns},
                inspector.get_pk_constraint(table)["constrained_columns"],
                sorted((index["name"], tuple(index["column_names"])) for index in inspector.get_indexes(table)),
                sorted(tuple(unique["column_names"]) for unique in inspector.get_unique_constraints(table)),
                sorted(check["sqltext"] for check in inspector.get_check_constraints(table)),
            )
            for table in inspector.get_table_names()
            for columns in [inspector.get_columns(table)]
        }
        if engine.dialect.name == "sqlite":
            rest = (
                "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' OR sql LIKE 'CREATE VIRTUAL%' ORDER BY name"
            )
        else:
            rest = "SELECT tgname, tgrelid::regclass::text FROM pg_trigger WHERE NOT tgisinternal ORDER BY tgname, 2"
        tables["triggers"] = [
            tuple(" ".join(str(part).split()) for part in row) for row in connection.execute(text(rest))
        ]
    engine.dispose()
    return tables


def test_a_migrated_schema_is_the_same_as_a_fresh_one(old, old_url, tmp_path):
    old.close()
    migrated = shape(old_url)
    fresh_url = f"sqlite:///{tmp_path / 'fresh.db'}" if old.is_sqlite else emptied(old_url)
    Database(fresh_url).close()
    assert migrated == shape(fresh_url)


def test_what_lived_lives_on_and_says_what_it_rests_on(old):
    owner = owner_named(old, "local")
    texts = {memory_id: (entry.text, entry.rests_on) for memory_id, entry in living(old, owner).items()}
    assert texts == {
        2: ("My sister Anna lives in Rome. My sister Lena lives in Rome.", "stated"),
        5: ("I speak Italian.", "stated"),
        8: ("My brother Ivo is 29. My brother Sam is 29.", "stated"),
        11: ("The plumber comes on Tuesday (3 March 2026).", "stated"),
        13: ("This is my dog Bobo.", "stated"),
        14: ("Bobo loves the blue ball.", "stated"),
        16: ("I'm allergic to peanuts and my desk is on the third floor.", "stated"),
        17: ("The user is allergic to all nuts.", "unchecked"),
    }
    with old.read(owner) as unit:
        [bobo] = [concept for concept in concepts(unit) if concept.name == "Bobo"]
        messages = RawMessageStore().get(unit, range(1, 29))
    assert len(bobo.photo_ids) == 1 and messages[17].photos == bobo.photo_ids
    assert messages[25].text == "I'm allergic to peanuts and my desk is on the third floor."


def test_what_was_replaced_is_history_without_the_words_of_others(old):
    owner = owner_named(old, "local")
    with old.read(owner) as unit:
        past = SEMANTIC.superseded(unit, range(1, 20))
        rows = SEMANTIC.history(unit, 10)
        reasons = set(unit.scalars(select(entry_history.c.why)))
    assert {memory_id: entry.superseded_by for memory_id, entry in past.items()} == {1: 2, 4: 5, 7: 8, 10: 11}
    assert [(row.change, row.successor_id) for row in rows] == [("added", None), ("superseded", 11)]
    assert reasons == {""}
    # What took the place of another rests on its own message alone.
    assert living(old, owner)[11].evidence_ids == ((15, 15),)


def test_what_was_forgotten_is_withheld_and_can_be_brought_back(old):
    owner = owner_named(old, "local")
    raw = RawMessageStore()
    with old.read(owner) as unit:
        messages = raw.get(unit, [21, 22, 23])
        assert [message.text for message in messages.values()] == [FORGOTTEN] * 3
        assert [message.message_id for message in raw.find(unit, "bank PIN 4471", 10)] == []
        assert "PIN" not in " ".join(conversation.title for conversation in conversations.listed(unit))
        assert SEMANTIC.superseded(unit, [15]) == {}
        assert {row.text for row in SEMANTIC.history(unit, 15)} == {FORGOTTEN}
        steps = unit.scalar(select(trace.c.steps).where(unit.owns(trace), trace.c.message_id == 24))
    assert '"change": "forgotten"' in steps and '"forgetting_id": 1' in steps


def test_an_update_that_was_pending_is_still_to_be_done(old_url):
    engine = create_engine(old_url)
    with engine.begin() as connection:
        owner = connection.scalar(text("SELECT owner FROM owner"))
        values = {"owner": owner}
        connection.execute(
            text("INSERT INTO pending_update (owner, message_id, failures) VALUES (:owner, 28, 1)"), values
        )
    engine.dispose()
    database = Database(old_url)
    with database.snapshot() as connection:
        rows = connection.execute(select(pending_update)).all()
        answers = dict(connection.execute(select(trace.c.message_id, trace.c.answers)).tuples().all())
    database.close()
    assert [(row.message_id, row.failures, row.set_aside) for row in rows] == [(28, 1, False)]
    assert answers == {number: number - 1 for number in range(2, 29, 2)}


def test_repair_brings_back_what_the_rules_wrongly_replaced_and_nothing_that_was_forgotten(old):
    owner = owner_named(old, "local")
    before = living(old, owner)
    assert len(wrongly_replaced(old, owner)) == 3
    assert living(old, owner) == before  # to look changes nothing
    restore_wrongly_replaced(old, owner, NOW)
    assert wrongly_replaced(old, owner) == restore_wrongly_replaced(old, owner, NOW) == []
    texts = [entry.text for entry in living(old, owner).values()]
    assert sorted(texts) == sorted(
        [
            "My sister Anna lives in Berlin.",
            "My sister Lena lives in Rome.",
            "I speak Polish.",
            "I speak Italian.",
            "My brother Ivo is 34.",
            "My brother Sam is 29.",
            "The plumber comes on Tuesday (3 March 2026).",
            "This is my dog Bobo.",
            "Bobo loves the blue ball.",
            "I'm allergic to peanuts and my desk is on the third floor.",
            "The user is allergic to all nuts.",
        ]
    )
    with old.read(owner) as unit:
        [anna] = [concept for concept in concepts(unit) if concept.name == "Anna"]
        entries = SEMANTIC.all(unit)
        assert [entry.text for entry in entries if anna.concept_id in entry.concept_ids] == [
            "My sister Anna lives in Berlin."
        ]
        assert set(SEMANTIC.superseded(unit, range(1, 30))) == {10}


def test_opening_again_migrates_nothing_and_a_newer_database_is_refused(old, old_url):
    old.close()
    database = Database(old_url)
    owner = owner_named(database, "local")
    with database.write(owner) as unit:
        assert unit.scalar(text("SELECT count(*) FROM forgotten_entry")) == 1
        assert RawMessageStore().versions(unit, [24]) == {24: 2}
        unit.execute(update(setting).where(setting.c.key == "schema_version").values(value=str(SCHEMA_VERSION + 1)))
    database.close()
    with pytest.raises(
        DatabaseError, match=rf"schema version {SCHEMA_VERSION + 1}, but this M2A only knows versions 1 to"
    ):
        Database(old_url)


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_what_replies_of_version_8_rest_on_and_changed_is_known(kind, request, tmp_path, index):
    url = f"sqlite:///{tmp_path / 'memory.db'}" if kind == "sqlite" else request.getfixturevalue("postgres_url")
    database = Database(url)
    memory = Memory(database, owner_named(database, "anna"), tmp_path, index)
    pin = memory.tell("My bank PIN is 4471.")
    memory.tell("Bobo swims.")
    assert memory.bank.undo(4, 0)
    memory.say("What should I take?", "Your bank statement. Take care.", sources=[pin])
    database.close()
    back_to_version_8(url)

    database = Database(url)
    memory = Memory(database, owner_named(database, "anna"), tmp_path, index)
    assert memory.bank.replies.newest_with_changes() == 2  # what came after is taken back
    memory.bank.delete(pin.memory_id, who="test", why="")
    assert memory.bank.messages([6])[6].text == f"{FORGOTTEN} Take care."  # it rested on what is forgotten
    database.close()


def back_to_version_8(url: str) -> None:
    """Leave the database as the version of M2A with schema version 8 would have."""
    engine = create_engine(url)
    with engine.begin() as connection:
        for statement in (
            "DROP TABLE reply_source",
            "ALTER TABLE trace DROP COLUMN changes",
            "UPDATE setting SET value = '8' WHERE key = 'schema_version'",
        ):
            connection.execute(text(statement))
    engine.dispose()
