"""A memory as the version of M2A with schema version 1 left it on disk, in SQLite or PostgreSQL.

It holds ordinary statements, kept without a model: its rules wrongly replaced Anna with Lena, Polish with Italian and Ivo with
Sam, rightly moved the plumber, forgot a PIN, and saw a photo of Bobo; a language model added an allergy to all nuts.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

from sqlalchemy import create_engine, inspect, text

_DATA = Path(__file__).parent / "data"


def unpack_old_memory(folder: Path) -> Path:
    """Unpacks the data folder into the folder, which is created, and returns it."""
    with ZipFile(_DATA / "memory_of_version_1.zip") as archive:
        archive.extractall(folder)
    return folder


def old_sqlite_memory(folder: Path) -> str:
    """Returns the address of its database, a separate file."""
    return f"sqlite:///{unpack_old_memory(folder) / 'memory.db'}"


def old_postgres_memory(folder: Path, url: str) -> str:
    """Writes the same rows to an empty PostgreSQL database, in the tables of version 1."""
    unpack_old_memory(folder)
    engine = create_engine(url)
    with engine.begin() as connection, closing(sqlite3.connect(folder / "memory.db")) as old:
        old.row_factory = sqlite3.Row
        for statement in (_DATA / "schema_1_postgresql.sql").read_text().splitlines():
            connection.exec_driver_sql(statement)
        booleans = {
            (table, column["name"])
            for table in inspect(connection).get_table_names()
            for column in inspect(connection).get_columns(table)
            if str(column["type"]) == "BOOLEAN"
        }
        for table in inspect(connection).get_table_names():
            for row in old.execute(f"SELECT * FROM {table}"):
                values = {
                    name: bool(value) if (table, name) in booleans else value for name, value in dict(row).items()
                }
                names = ", ".join(values)
                statement = f"INSERT INTO {table} ({names}) VALUES ({', '.join(f':{name}' for name in values)})"
                connection.execute(text(statement), values)
        connection.exec_driver_sql("SELECT setval('entry_history_history_id_seq', 1000)")
    engine.dispose()
    return url
