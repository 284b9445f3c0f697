"""A unit of work: one transaction that reads or writes one owner's memory."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    CursorResult,
    Executable,
    FromClause,
    Row,
    ScalarResult,
    Select,
    bindparam,
    func,
    insert,
    literal,
    select,
    update,
)

from m2a.memory.schema import outbox
from m2a.memory.schema import owner as owner_table
from m2a.memory.sql import LIST_TYPES, is_in, is_in_parameter, list_parameter

Parameters = Mapping[str, Any] | Sequence[Mapping[str, Any]]
_Columns = tuple[ColumnElement[Any], ...]  # the first is a column of a table


@dataclass(frozen=True, slots=True)
class UnitOfWork:
    """A transaction that is bound to one owner. `Database.read` and `Database.write` begin and end it.

    Functions that take a unit of work run inside its transaction and open none themselves.
    """

    connection: Connection
    owner: str

    def execute(self, statement: Executable, parameters: Parameters | None = None) -> CursorResult[*tuple[Any, ...]]:
        return self.connection.execute(statement, parameters)

    def scalar(self, statement: Executable) -> Any:
        return self.connection.scalar(statement)

    def scalars(self, statement: Executable) -> ScalarResult[Any]:
        return self.connection.scalars(statement)

    def rollback(self) -> None:
        """Discards everything written so far."""
        self.connection.rollback()

    @property
    def dialect(self) -> str:
        """The SQL dialect: `sqlite` or `postgresql`."""
        return self.connection.dialect.name

    def owns(self, table: FromClause) -> ColumnElement[bool]:
        """Returns the condition that a row of the table belongs to the owner."""
        return _owns(table, self.owner)

    def count(self, table: FromClause, *conditions: ColumnElement[bool]) -> int:
        """Returns the number of the owner's rows that meet the conditions."""
        return self.scalar(select(func.count()).select_from(table).where(self.owns(table), *conditions)) or 0

    def among(self, column: Column[int], numbers: Collection[int]) -> ColumnElement[bool]:
        """Returns the condition that the column is one of the numbers, with one parameter for all of them, unlike `IN`."""
        return is_in(
            self.dialect, column, literal(list_parameter(self.dialect, numbers), type_=LIST_TYPES[self.dialect])
        )

    def rows_among(self, columns: _Columns, numbers: Collection[int]) -> Sequence[Row[*tuple[Any, ...]]]:
        """Returns the columns of the owner's rows whose first column is one of the numbers.

        The statement is built once and cached, because building it takes as long as running it.
        """
        values = {"owner": self.owner, "numbers": list_parameter(self.dialect, numbers)}
        return self.execute(_rows_among(columns, self.dialect), values).all()

    def next_id(self, record: Literal["message", "memory", "concept", "forgetting"]) -> int:
        """Returns the owner's next id of that kind. Ids rise and are never reused. Raises `LookupError` for an unknown owner."""
        last = owner_table.c[f"last_{record}_id"]
        allocated = self.scalar(
            update(owner_table).where(self.owns(owner_table)).values({last: last + 1}).returning(last)
        )
        if allocated is None:
            raise LookupError(f"There is no owner {self.owner!r}.")
        return int(allocated)

    def queue_for_index(self, record: Literal["entry", "message", "photo"], record_ids: Iterable[int | str]) -> None:
        """Queues records for the index, because they are new, changed or gone."""
        rows = [{"owner": self.owner, "record": record, "record_id": str(record_id)} for record_id in record_ids]
        if rows:
            self.execute(insert(outbox), rows)


@lru_cache
def _owns(table: FromClause, owner: str) -> ColumnElement[bool]:
    """Cached, because nearly every statement has it and building it takes as long as running a short statement."""
    condition: ColumnElement[bool] = table.c.owner == owner
    return condition


@cache
def _rows_among(columns: _Columns, dialect: str) -> Select[Any]:
    return select(*columns).where(
        columns[0].table.c.owner == bindparam("owner"), is_in_parameter(dialect, columns[0], "numbers")
    )
