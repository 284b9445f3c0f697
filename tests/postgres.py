"""A private PostgreSQL server for a test run, as an unprivileged user if root runs the tests."""

import getpass
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from glob import glob
from pathlib import Path

from sqlalchemy import create_engine, text

from m2a.memory.database import Database
from tests.requirements import missing

PORT = 5432  # only part of the socket's name: the server listens on no address


def _programs() -> Path | None:
    candidates = sorted(glob("/usr/lib/postgresql/*/bin/initdb"))
    if candidates:
        return Path(candidates[-1]).parent
    on_path = shutil.which("initdb")
    return Path(on_path).resolve().parent if on_path else None


@contextmanager
def postgres_server() -> Iterator[str]:
    """Yields the SQLAlchemy URL of the server's database."""
    programs = _programs()
    if programs is None:
        missing("PostgreSQL")
    assert programs is not None
    folder = Path(tempfile.mkdtemp(prefix="m2a-postgres-"))
    as_root = getpass.getuser() == "root"
    if as_root:
        shutil.chown(folder, "postgres", "postgres")
    prefix = ["runuser", "-u", "postgres", "--"] if as_root else []

    def run(*command: str) -> None:
        subprocess.run([*prefix, *command], cwd=folder, check=True, stdout=subprocess.DEVNULL)

    options = (
        f"-p {PORT} -k {folder} -c listen_addresses='' -c fsync=off -c full_page_writes=off -c synchronous_commit=off"
    )
    try:
        run(
            f"{programs}/initdb", "-D", f"{folder}/data", "-A", "trust", "-U", "postgres", "--no-sync",
            "-E", "UTF8", "--locale=C.UTF-8",
        )  # fmt: skip
        run(
            f"{programs}/pg_ctl",
            "-D",
            f"{folder}/data",
            "-w",
            "-t",
            "20",
            "-l",
            f"{folder}/log",
            "-o",
            options,
            "start",
        )
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}&port={PORT}"
    finally:
        if os.path.exists(f"{folder}/data/postmaster.pid"):
            run(f"{programs}/pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def emptied(url: str) -> str:
    """Drops all tables of the database, disconnects everybody, and returns its URL."""
    return _done(url, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")


def second_database(url: str) -> str:
    """Makes another database on the server, with the tables of a memory, and returns its URL."""
    _done(url, "CREATE DATABASE tables")
    url = url.replace("/postgres?", "/tables?")
    Database(url).close()
    return url


def cleared(url: str) -> str:
    """Deletes all rows of a memory's tables, disconnects everybody, and returns its URL."""
    return _done(url, _CLEAR)


# As a replica: the triggers that keep messages from being deleted rest, as do foreign keys.
_CLEAR = """
DO $$ DECLARE name text; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'setting' LOOP
    EXECUTE format('DELETE FROM %I', name);
  END LOOP;
  DELETE FROM setting WHERE key <> 'schema_version';
  FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
    EXECUTE format('ALTER SEQUENCE %I RESTART', name);
  END LOOP;
END $$
"""


def _done(url: str, *statements: str) -> str:
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(
            text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()
    return url
