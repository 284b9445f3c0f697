"""A memory as the version of M2A with schema version 1 left it on disk, in SQLite or PostgreSQL.

It was told ordinary things without a model: its rules wrongly put Lena in the place of Anna, Italian of Polish and Sam of Ivo,
rightly moved the plumber, forgot a PIN, and saw a photo of Bobo; a language model wrote that the user is allergic to all nuts.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

from sqlalchemy import create_engine, inspect, text

_DATA = Path(__file__).parent / "data"


def unpack_old_memory(folder: Path) -> Path:
    """The data folder, unpacked into the folder, which is made."""
    with ZipFile(_DATA / "memory_of_version_1.zip") as archive:
        archive.extractall(folder)
    return folder


def old_sqlite_memory(folder: Path) -> str:
    """The address of its database, a file of its own."""
    return f"sqlite:///{unpack_old_memory(folder) / 'memory.db'}"


def old_postgres_memory(folder: Path, url: str) -> str:
    """The same rows in an empty PostgreSQL database, in the tables that version 1 made there."""
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
