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

from sqlalchemy import create_engine

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
    """Yields the SQLAlchemy URL of the server's only database."""
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
    """Empties the database, disconnects everybody, and returns its URL."""
    engine = create_engine(url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.exec_driver_sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        connection.exec_driver_sql("DROP SCHEMA public CASCADE")
        connection.exec_driver_sql("CREATE SCHEMA public")
    engine.dispose()
    return url
