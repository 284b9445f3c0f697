"""The SQL database: its tables, its triggers, and how to open it. SQL is the truth; everything else can be rebuilt."""

import json
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, timezone
from functools import cache
from typing import Any, Literal, TypeVar

from sqlalchemy import (
    ARRAY,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Select,
    String,
    Table,
    Text,
    UniqueConstraint,
    any_,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    insert,
    inspect,
    literal,
    select,
    text,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

from models.availability import install_command

SCHEMA_VERSION = 1
_DRIVER = "'psycopg[binary]'"

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")

metadata = MetaData()
_Id = BigInteger().with_variant(Integer, "sqlite")


def _owner() -> Column[str]:
    return Column("owner", String(32), nullable=False)


owner = Table(
    "owner",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("name", String(200), nullable=False, unique=True),
    Column("last_message_id", _Id, nullable=False, server_default="0"),
    Column("last_memory_id", _Id, nullable=False, server_default="0"),
    Column("last_concept_id", _Id, nullable=False, server_default="0"),
)

conversation = Table(
    "conversation",
    metadata,
    _owner(),
    Column("conversation_id", String(32), primary_key=True),
    Column("title", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Index("conversation_of_owner", "owner", "started_at"),
)

message = Table(
    "message",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("message_id", _Id, primary_key=True, autoincrement=False),
    Column("conversation_id", String(32), nullable=False),
    Column("role", String(9), nullable=False),
    Column("speaker", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("words", Text, nullable=False),
    Column("said_at", BigInteger, nullable=False),
    Column("utc_offset", Integer, nullable=False),
    Column("replaces", _Id),
    Column("reference", Text),
    Column("partial", Boolean, nullable=False),
    CheckConstraint("role IN ('user', 'assistant')"),
    Index("message_of_conversation", "owner", "conversation_id", "message_id"),
    Index("message_by_time", "owner", "said_at"),
)

message_photo = Table(
    "message_photo",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("message_id", _Id, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True),
    Column("photo_id", String(64), nullable=False),
    Index("message_photo_by_photo", "owner", "photo_id"),
)

photo = Table(
    "photo",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("photo_id", String(64), primary_key=True),
    Column("media_type", String(20), nullable=False),
    Column("width", Integer, nullable=False),
    Column("height", Integer, nullable=False),
    Column("size", Integer, nullable=False),
    Column("caption", Text, nullable=False, server_default=""),
    Column("added_at", BigInteger, nullable=False),
)

entry = Table(
    "entry",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("memory_id", _Id, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("alive", Boolean, nullable=False),
    Column("kind", String(20), nullable=False),
    Column("text", Text, nullable=False),
    Column("folded_hash", String(64), nullable=False),
    Column("caption", Text, nullable=False),
    Column("recorded_at", BigInteger, nullable=False),
    Column("happened_first", String(10)),
    Column("happened_last", String(10)),
    # Of a replaced memory: what took its place. Of an update record: the memory whose change it records.
    Column("successor_id", _Id),
    Index("entry_alive", "owner", "alive", "kind"),
    Index("entry_by_text", "owner", "folded_hash"),
    Index("entry_by_successor", "owner", "successor_id"),
)

entry_photo = Table(
    "entry_photo",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("memory_id", _Id, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True),
    Column("photo_id", String(64), nullable=False),
    Index("entry_photo_by_photo", "owner", "photo_id"),
)

entry_evidence = Table(
    "entry_evidence",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("memory_id", _Id, primary_key=True, autoincrement=False),
    Column("position", Integer, primary_key=True),
    Column("first_id", _Id, nullable=False),
    Column("last_id", _Id, nullable=False),
    CheckConstraint("first_id <= last_id"),
)

entry_history = Table(
    "entry_history",
    metadata,
    Column("history_id", _Id, primary_key=True, autoincrement=True),
    _owner(),
    Column("memory_id", _Id, nullable=False),
    Column("version", Integer, nullable=False),
    Column("change", String(10), nullable=False),
    Column("text", Text, nullable=False),
    Column("who", Text, nullable=False),
    Column("why", Text, nullable=False),
    Column("changed_at", BigInteger, nullable=False),
    Index("entry_history_of_entry", "owner", "memory_id"),
)

concept = Table(
    "concept",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("concept_id", _Id, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("folded_name", Text, nullable=False),
    Column("kind", String(10), nullable=False),
    UniqueConstraint("owner", "folded_name"),
)

concept_alias = Table(
    "concept_alias",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("concept_id", _Id, primary_key=True, autoincrement=False),
    Column("alias", Text, nullable=False),
    Column("folded_alias", String(400), primary_key=True),
)

entry_concept = Table(
    "entry_concept",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("memory_id", _Id, primary_key=True, autoincrement=False),
    Column("concept_id", _Id, primary_key=True, autoincrement=False),
    Index("entry_concept_by_concept", "owner", "concept_id"),
)

# Who linked a photo to a concept, and the message in which the user said so.
concept_photo = Table(
    "concept_photo",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("concept_id", _Id, primary_key=True, autoincrement=False),
    Column("photo_id", String(64), primary_key=True),
    Column("who", Text, nullable=False),
    Column("message_id", _Id, nullable=False),
    Column("memory_id", _Id, nullable=False),
)

# What the index has still to be told, in order. `record` is `entry`, `message` or `photo`.
outbox = Table(
    "outbox",
    metadata,
    Column("sequence", _Id, primary_key=True, autoincrement=True),
    _owner(),
    Column("record", String(7), nullable=False),
    Column("record_id", String(64), nullable=False),
)

embedding = Table(
    "embedding",
    metadata,
    Column("content_hash", String(64), primary_key=True),
    Column("encoder_id", String(200), primary_key=True),
    Column("vector", LargeBinary, nullable=False),
)

# What ranking needs of a record beside its row in the index (`fusion = "best"`); made from the record, so that it can be
# made again. Its tokens hold traces of the two messages before it.
ranked_record = Table(
    "ranked_record",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("kind", String(7), primary_key=True),
    Column("record_id", _Id, primary_key=True, autoincrement=False),
    Column("version", Integer, nullable=False),
    Column("conversation_id", String(32), nullable=False),
    Column("speaker", Text, nullable=False),
    Column("said_at", BigInteger, nullable=False),
    Column("words", Text, nullable=False),
    Column("traits", LargeBinary, nullable=False),
    Column("vector", LargeBinary, nullable=False),
    Column("tokens", LargeBinary, nullable=False),
)

# How many ranked records hold a word, are said by a speaker, or are there at all; kept in step by the same transactions.
ranked_count = Table(
    "ranked_count",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("counted", String(15), primary_key=True),
    Column("item", Text, primary_key=True),
    Column("number", BigInteger, nullable=False),
)

pending_update = Table(
    "pending_update",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("message_id", _Id, primary_key=True, autoincrement=False),
    Column("failures", Integer, nullable=False, server_default="0"),
    Column("last_error", Text),
)

# How a reply came about, as JSON: what was searched, and the memories it rests on.
trace = Table(
    "trace",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("message_id", _Id, primary_key=True, autoincrement=False),
    Column("steps", Text, nullable=False),
)

# The message ids whose erasure the triggers let through, written in the same transaction as the DELETE.
erasure = Table(
    "erasure",
    metadata,
    Column("owner", String(32), primary_key=True),
    Column("message_id", _Id, primary_key=True, autoincrement=False),
)

setting = Table(
    "setting", metadata, Column("key", String(100), primary_key=True), Column("value", Text, nullable=False)
)


class DatabaseError(Exception):
    """The database cannot be opened; the message says why and what to do."""


class Database:
    """An opened database, SQLite or PostgreSQL. Reads see one snapshot; writes are serialised and durable."""

    def __init__(self, url: str) -> None:
        address = _address(url)
        self.is_sqlite = address.get_backend_name() == "sqlite"
        try:
            self._engine = self._open_sqlite(url) if self.is_sqlite else _engine(url, pool_pre_ping=True)
        except ModuleNotFoundError as error:
            raise DatabaseError(
                f"The database driver {error.name!r} is missing; run `{install_command(_DRIVER)}`."
            ) from error
        try:
            self._create_tables()
        except OperationalError as error:
            reason = " ".join(str(error.orig).split()).rstrip(".")
            raise DatabaseError(f"Cannot open the database {address!r} ({reason}); {self._remedy(reason)}") from error

    def _remedy(self, reason: str) -> str:
        if not self.is_sqlite:
            return "check M2A_DATABASE_URL, and that the server runs."
        if "locked" in reason:
            return "another program is writing to it, try again when it has ended."
        if "unable to open" in reason or "readonly" in reason:
            return "set M2A_DATA_DIR to a folder that you can write to."
        return "is the disk full or damaged?"

    @staticmethod
    def _open_sqlite(url: str) -> Engine:
        _make_private(make_url(url).database)
        engine = _engine(url, connect_args={"timeout": 30})

        @event.listens_for(engine, "connect")
        def _configure(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # we say BEGIN ourselves: a write must take its lock at once
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            write = connection.get_execution_options().get("m2a_write", False)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

        return engine

    def _create_tables(self) -> None:
        with self.write() as connection:
            if inspect(connection).has_table("setting"):
                found = connection.scalar(select(setting.c.value).where(setting.c.key == "schema_version"))
                if found != str(SCHEMA_VERSION):
                    raise DatabaseError(
                        f"The database has schema version {found}, this M2A knows {SCHEMA_VERSION}; "
                        "open it with the M2A that wrote it."
                    )
                # What can be made from the rest came later than the first databases.
                metadata.create_all(connection, [ranked_record, ranked_count])
                return
            metadata.create_all(connection)
            for statement in _SQLITE_STATEMENTS if self.is_sqlite else _POSTGRESQL_STATEMENTS:
                connection.exec_driver_sql(statement)
            connection.execute(insert(setting).values(key="schema_version", value=str(SCHEMA_VERSION)))

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading; what it sees does not change under it (SQLite)."""
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """One transaction: committed (and on disk) when the block ends, rolled back when it raises.

        It waits for the one before it, so that what it reads holds until it writes.
        """
        with self._engine.connect().execution_options(m2a_write=True) as connection, connection.begin():
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(20261)"))
            yield connection

    def close(self) -> None:
        self._engine.dispose()


def _address(url: str) -> URL:
    """The address in parts. Raises `DatabaseError`, which tells no password."""
    try:
        address = make_url(url)
        with suppress(ModuleNotFoundError):  # the driver's: what to install is said when it is opened
            address.get_dialect()
        if address.get_backend_name() in ("postgresql", "sqlite"):
            return address
        fault = f"names {address.drivername!r}, which is neither PostgreSQL nor SQLite"
    except NoSuchModuleError as error:
        fault = f"names a database that M2A does not know ({error})"
    except (ArgumentError, ValueError):  # the latter for a port that is no number
        fault = f"{'' if set(url) & set(':@?') else f'{url!r} '}is not a database address"
    raise DatabaseError(f"database_url {fault}; write postgresql+psycopg://user@host/name.")


def _engine(url: str, **options: Any) -> Engine:
    """Its errors name statements without the values, which are what people said."""
    return create_engine(url, hide_parameters=True, **options)


def _make_private(file: str | None) -> None:
    """Readable to its owner alone, before anything is in it: SQLite makes its other files as this one is."""
    if not file or file == ":memory:":
        return
    with suppress(OSError):  # what is wrong with the place, SQLite says
        try:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:  # not opened: to close it would end the locks that this process has on it
            os.chmod(file, 0o600)


def to_microseconds(moment: datetime) -> int:
    """An aware datetime as microseconds since 1970 (UTC)."""
    if moment.tzinfo is None:
        raise ValueError(f"The time {moment.isoformat()} has no time zone; give one, for example UTC.")
    delta = moment - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def from_microseconds(value: int, utc_offset: int = 0) -> datetime:
    """The inverse; `utc_offset` in seconds."""
    return (_EPOCH + timedelta(microseconds=value)).astimezone(timezone(timedelta(seconds=utc_offset)))


def next_id(connection: Connection, owner_key: str, record: Literal["message", "memory", "concept"]) -> int:
    """The owner's next id of that kind: ids rise and are never reused. Raises `LookupError` for an unknown owner."""
    last = owner.c[f"last_{record}_id"]
    allocated = connection.scalar(
        update(owner).where(owner.c.owner == owner_key).values({last: last + 1}).returning(last)
    )
    if allocated is None:
        raise LookupError(f"There is no owner {owner_key!r}.")
    return int(allocated)


def chunks(items: Sequence[T], size: int = 500) -> Iterator[Sequence[T]]:
    """The items in runs that fit into one statement."""
    return (items[start : start + size] for start in range(0, len(items), size))


def among(connection: Connection, column: Column[int], numbers: Collection[int]) -> ColumnElement[bool]:
    """Whether the column is one of the numbers, however many: one parameter, where `IN` takes one for each."""
    if connection.dialect.name == "sqlite":
        return _is_listed(column, literal(json.dumps(sorted(numbers))))
    return column == any_(cast(literal(sorted(numbers), ARRAY(BigInteger)), ARRAY(BigInteger)))


def rows_among(
    connection: Connection, columns: tuple[Column[Any], ...], owner_key: str, numbers: Collection[int]
) -> Sequence[tuple[Any, ...]]:
    """The columns of the owner's rows whose first column is one of the numbers.

    The statement is made once: where a search asks, making it takes as long as its answer.
    """
    statement, listed = _rows_among(columns, connection.dialect.name)
    return connection.execute(statement, {"owner": owner_key, "numbers": listed(sorted(numbers))}).tuples().all()


@cache
def _rows_among(
    columns: tuple[Column[Any], ...], dialect: str
) -> tuple[Select[Any], Callable[[list[int]], str | list[int]]]:
    table, number = columns[0].table, columns[0]
    statement = select(*columns).where(table.c.owner == bindparam("owner"))
    if dialect == "sqlite":
        return statement.where(_is_listed(number, bindparam("numbers", type_=String))), json.dumps
    numbers = bindparam("numbers", type_=ARRAY(BigInteger))
    return statement.where(number == any_(cast(numbers, ARRAY(BigInteger)))), list


def _is_listed(column: Column[int], json_list: ColumnElement[str]) -> ColumnElement[bool]:
    """Of SQLite: whether the column is one of a JSON list."""
    listed = func.json_each(json_list).table_valued("value")
    return column.in_(select(listed.c.value))


def grouped(rows: Iterable[tuple[K, V]]) -> dict[K, list[V]]:
    """Rows of (key, value) as lists of values by key, in the order of the rows."""
    lists: dict[K, list[V]] = {}
    for key, value in rows:
        lists.setdefault(key, []).append(value)
    return lists


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# Layer 1 is append-only: the database itself refuses changes, and deletions of what is not listed for erasure.
_GUARDED_TABLES = ("message", "message_photo")


def _sqlite_guard(table: str) -> list[str]:
    return [
        f"""CREATE TRIGGER {table}_refuses_update BEFORE UPDATE ON {table}
            BEGIN SELECT RAISE(ABORT, 'the raw message log is append-only'); END""",
        f"""CREATE TRIGGER {table}_refuses_delete BEFORE DELETE ON {table}
            WHEN NOT EXISTS (SELECT 1 FROM erasure WHERE owner = OLD.owner AND message_id = OLD.message_id)
            BEGIN SELECT RAISE(ABORT, 'the raw message log is append-only'); END""",
    ]


_SQLITE_STATEMENTS = [
    *(statement for table in _GUARDED_TABLES for statement in _sqlite_guard(table)),
    # Our own finished words: the tokenizer has only to split at spaces.
    "CREATE VIRTUAL TABLE message_words USING fts5(owner UNINDEXED, message_id UNINDEXED, words)",
    """CREATE TRIGGER message_words_insert AFTER INSERT ON message
       BEGIN INSERT INTO message_words (owner, message_id, words) VALUES (NEW.owner, NEW.message_id, NEW.words); END""",
    """CREATE TRIGGER message_words_delete AFTER DELETE ON message
       BEGIN DELETE FROM message_words WHERE owner = OLD.owner AND message_id = OLD.message_id; END""",
]

_POSTGRESQL_STATEMENTS = [
    """CREATE FUNCTION refuse_message_change() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN
         IF TG_OP = 'DELETE' AND EXISTS (
           SELECT 1 FROM erasure WHERE owner = OLD.owner AND message_id = OLD.message_id) THEN RETURN OLD; END IF;
         RAISE EXCEPTION 'the raw message log is append-only';
       END $$""",
    *(
        f"CREATE TRIGGER {table}_refuses_change BEFORE UPDATE OR DELETE ON {table} "
        "FOR EACH ROW EXECUTE FUNCTION refuse_message_change()"
        for table in _GUARDED_TABLES
    ),
    """CREATE FUNCTION refuse_message_truncate() RETURNS trigger LANGUAGE plpgsql AS $$
       BEGIN RAISE EXCEPTION 'the raw message log is append-only'; END $$""",
    *(
        f"CREATE TRIGGER {table}_refuses_truncate BEFORE TRUNCATE ON {table} EXECUTE FUNCTION refuse_message_truncate()"
        for table in _GUARDED_TABLES
    ),
    "CREATE INDEX message_words ON message USING gin (to_tsvector('simple', words))",
]
