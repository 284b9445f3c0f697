"""The SQL database, which holds all data. Everything outside it can be rebuilt from it, except photo files."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from time import monotonic, sleep
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, insert, inspect, select, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, OperationalError

from m2a.memory.migrations import migrate
from m2a.memory.schema import POSTGRESQL_STATEMENTS, SCHEMA_VERSION, SQLITE_STATEMENTS, metadata, setting
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types.errors import UserError
from models.availability import install_command

_DRIVER = "'psycopg[binary]'"
_IN_USE = "Another program is reading the database; close that program and run `m2a purge` again."
_WAIT = 5.0  # seconds
# Not `backend_xmin`, which PostgreSQL shows of other users only to its superusers.
_OPEN_TRANSACTIONS = text(
    "SELECT virtualtransaction FROM pg_locks JOIN pg_stat_activity USING (pid) "
    "WHERE locktype = 'virtualxid' AND datname = current_database() AND pid <> pg_backend_pid()"
)


class DatabaseError(UserError):
    """The database cannot be opened. The message says why and what to do."""


class ReadOnlyError(UserError):
    """A write was attempted on a read-only database."""

    def __init__(self) -> None:
        super().__init__("A temporary chat saves nothing; use a normal conversation.")


class Database:
    """An open SQLite or PostgreSQL database. Writes are serialised and durable; on SQLite, each read sees one snapshot."""

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
            return "check M2A_DATABASE_URL, and that the server is running."
        if "locked" in reason:
            return "another program is writing to it; try again when that has finished."
        if "unable to open" in reason or "readonly" in reason:
            return "set M2A_DATA_DIR to a folder that you can write to."
        return "check whether the disk is full or damaged."

    @staticmethod
    def _open_sqlite(url: str) -> Engine:
        _make_private(make_url(url).database)
        engine = _engine(url, connect_args={"timeout": 30})

        @event.listens_for(engine, "connect")
        def _configure(connection: Any, _record: Any) -> None:
            connection.isolation_level = None  # `_begin` sends BEGIN, so that a write takes its lock at once
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute("PRAGMA foreign_keys = ON")

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            if connection.get_execution_options().get("m2a_write", False):
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:  # the plain cursor saves time, since every search begins a transaction
                connection.connection.cursor().execute("BEGIN")

        return engine

    def _create_tables(self) -> None:
        with self.transaction() as connection:
            if not inspect(connection).has_table("setting"):
                metadata.create_all(connection)
                for statement in SQLITE_STATEMENTS if self.is_sqlite else POSTGRESQL_STATEMENTS:
                    connection.exec_driver_sql(statement)
                connection.execute(insert(setting).values(key="schema_version", value=str(SCHEMA_VERSION)))
                return
            version = connection.scalar(select(setting.c.value).where(setting.c.key == "schema_version")) or "0"
            if version not in {str(number) for number in range(1, SCHEMA_VERSION + 1)}:
                raise DatabaseError(
                    f"The database has schema version {version}, but this M2A only knows versions 1 to {SCHEMA_VERSION}; "
                    "open it with the version of M2A that wrote it, or a newer one."
                )
            migrate(connection, int(version))

    @contextmanager
    def read(self, owner: str) -> Iterator[UnitOfWork]:
        """Opens a unit of work that reads the owner's data. On SQLite, it sees one unchanging snapshot."""
        with self.snapshot() as connection:
            yield UnitOfWork(connection, owner)

    @contextmanager
    def write(self, owner: str) -> Iterator[UnitOfWork]:
        """Opens a unit of work that changes the owner's data, in one `transaction`."""
        with self.transaction() as connection:
            yield UnitOfWork(connection, owner)

    @contextmanager
    def snapshot(self) -> Iterator[Connection]:
        """Like `read`, for data of no particular owner."""
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Opens a transaction on data of no particular owner. Commits when the block ends, and rolls back if it raises.

        Transactions run one at a time, so nothing that one has read changes before it writes.
        """
        with self._engine.connect().execution_options(m2a_write=True) as connection, connection.begin():
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(20261)"))
            yield connection

    def purge(self) -> None:
        """Rewrites all tables, so that the database files contain no deleted bytes. Other access waits meanwhile.

        Raises `DatabaseError` if another program's transaction still needs the deleted rows. Does not reach PostgreSQL's own
        log and its backups.
        """
        if not self.is_sqlite:
            with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                if not _wait_for_open_transactions(connection):
                    raise DatabaseError(_IN_USE)
                for table in metadata.sorted_tables:
                    _drop_statistics(connection, table)
                    connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {table.name}")
                connection.exec_driver_sql("VACUUM (FULL) pg_catalog.pg_statistic")  # contains samples of column values
            return
        with closing(self._engine.raw_connection()) as raw:
            # Deleting leaves words in segments of the full-text index, and copies on split pages.
            raw.cursor().execute("INSERT INTO message_words (message_words) VALUES ('rebuild')")
            raw.cursor().execute("VACUUM")
            [(is_busy, *_pages)] = raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        if is_busy:
            raise DatabaseError(_IN_USE)

    def read_only(self) -> "Database":
        """Returns a view of this database whose `write` raises `ReadOnlyError`. It closes with this one."""
        return _ReadOnlyDatabase(self)

    def close(self) -> None:
        self._engine.dispose()


def _wait_for_open_transactions(connection: Connection) -> bool:
    """Waits for the transactions that are open now in this PostgreSQL database, and returns whether all ended in time.

    VACUUM keeps the deleted rows that an older transaction may see, such as one of autovacuum, and would wait for its locks.
    """
    older = set(connection.scalars(_OPEN_TRANSACTIONS))
    end = monotonic() + _WAIT
    while older and monotonic() < end:
        sleep(0.02)
        older &= set(connection.scalars(_OPEN_TRANSACTIONS))
    return not older


def _drop_statistics(connection: Connection, table: Table) -> None:
    """Removes PostgreSQL's samples of the table's values, which ANALYZE leaves as they were if it finds no rows."""
    types = (f"ALTER {column.name} TYPE {column.type.compile(connection.dialect)}" for column in table.columns)
    connection.exec_driver_sql(f"ALTER TABLE {table.name} {', '.join(types)}")


class _ReadOnlyDatabase(Database):
    def __init__(self, database: Database) -> None:
        self.is_sqlite = database.is_sqlite
        self._engine = database._engine

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        raise ReadOnlyError
        yield

    def purge(self) -> None:
        raise ReadOnlyError


def _address(url: str) -> URL:
    """Parses the address. Raises `DatabaseError`, whose message contains no password."""
    try:
        address = make_url(url)
        with suppress(ModuleNotFoundError):  # for the driver; opening the database says what to install
            address.get_dialect()
        if address.get_backend_name() in ("postgresql", "sqlite"):
            return address
        fault = f"names {address.drivername!r}, which is neither PostgreSQL nor SQLite"
    except NoSuchModuleError as error:
        fault = f"names a database that M2A does not know ({error})"
    except (ArgumentError, ValueError):  # the latter for a port that is not a number
        fault = f"{'' if set(url) & set(':@?') else f'{url!r} '}is not a database address"
    raise DatabaseError(f"The setting database_url {fault}; write it as postgresql+psycopg://user@host/name.")


def _engine(url: str, **options: Any) -> Engine:
    """Creates an engine whose errors contain statements without their values, which may quote users."""
    return create_engine(url, hide_parameters=True, **options)


def _make_private(file: str | None) -> None:
    """Makes the file private before anything is in it; SQLite gives its other files the same permissions."""
    if not file or file == ":memory:":
        return
    with suppress(OSError):  # SQLite itself reports what is wrong with the place
        try:
            os.close(os.open(file, os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:  # chmod without opening it, since closing a file drops this process's locks on it
            os.chmod(file, 0o600)
