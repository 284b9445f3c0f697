"""What the database says when something is wrong, and what it never says."""

import pytest
from sqlalchemy import insert
from sqlalchemy.exc import IntegrityError

from m2a.memory.database import Database, DatabaseError
from m2a.memory.schema import setting


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql//anna:geheim@host/m2a", "database_url is not a database address"),
        ("postgresql://anna:geheim@host:port/m2a", "database_url is not a database address"),
        ("postgres://anna:geheim@host/m2a", "a database that M2A does not know .*dialects:postgres"),
        ("mysql://anna:geheim@host/m2a", "names 'mysql', which is neither PostgreSQL nor SQLite"),
        ("rubbish", "database_url 'rubbish' is not a database address"),
    ],
)
def test_a_wrong_address_is_one_sentence_without_its_password(url, reason):
    with pytest.raises(DatabaseError, match=rf"{reason}.*; write it as postgresql\+psycopg://") as refused:
        Database(url)
    assert "geheim" not in f"{refused.value!r} {refused.value.__cause__!r} {refused.value.__context__!r}"


def test_an_error_does_not_tell_what_was_to_be_written(database):
    with pytest.raises(IntegrityError) as raised, database.transaction() as connection:
        connection.execute(insert(setting).values(key="schema_version", value="my PIN is 4711"))
    assert "4711" not in str(raised.value)
