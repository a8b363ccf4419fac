"""Loading very many rows: COPY on PostgreSQL, executemany on SQLite, in the current transaction.

It sends no notifications, and checks nothing but what the database checks.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from sqlalchemy import Connection, Table, text
from sqlalchemy.exc import DBAPIError

from directory.db.statements import add_row_later
from directory.db.transactions import lift_time_limits, on_postgresql
from directory.extensions import db
from directory.models import AuditEntry, Category, Project, ProjectTag, TagCount, Upvote, User

T = TypeVar("T")
Convert = Callable[[Any], Any] | None

INSERTED_AT_ONCE = 10_000
# SQLite's default of 2 MB would have each row read and write pages of every index of a large table.
SQLITE_CACHE_KIB = 256 * 1024
LOADED = (User, Category, Project, ProjectTag, TagCount, Upvote, AuditEntry)


def begin() -> None:
    """Ready the current transaction for bulk work: no time limit, and memory for the indexes on SQLite."""
    lift_time_limits()
    if not on_postgresql():
        db.session.execute(text(f"PRAGMA cache_size = -{SQLITE_CACHE_KIB}"))


def reserve(model: Any, size: int) -> int:
    """Reserve `size` ids of a table and return the first: no other transaction gets any of them."""
    table: Table = model.__table__
    if not on_postgresql():
        last = db.session.scalar(text("SELECT seq FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        change = "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)"
        if last is not None:
            change = "UPDATE sqlite_sequence SET seq = :seq WHERE name = :name"
        db.session.execute(text(change), {"name": table.name, "seq": (last or 0) + size})
        return (last or 0) + 1
    # A sequence knows no transactions, and two steps of it are not one: the lock keeps inserts from between them.
    db.session.execute(text(f"LOCK TABLE {table.name} IN SHARE ROW EXCLUSIVE MODE"))
    sequence = db.session.scalar(text("SELECT pg_get_serial_sequence(:name, 'id')"), {"name": table.name})
    first = db.session.scalar(text("SELECT nextval(CAST(:sequence AS regclass))"), {"sequence": sequence})
    last = {"sequence": sequence, "last": first + size - 1}
    db.session.execute(text("SELECT setval(CAST(:sequence AS regclass), :last)"), last)
    return int(first)


def number_from(table: Table, first: int) -> None:
    """Give the id `first` to the next row of a table that no other transaction writes to."""
    change = "SELECT setval(pg_get_serial_sequence(:name, 'id'), :first, false)"
    if not on_postgresql():
        db.session.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), {"name": table.name})
        change = "INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :first - 1)"
    db.session.execute(text(change), {"name": table.name, "first": first})


def load(model: Any, names: tuple[str, ...], rows: Iterable[tuple[Any, ...]]) -> None:
    """Add rows of the columns `names` to a model's table, without ever holding more than some thousands of them."""
    table: Table = getattr(model, "__table__", model)
    connection = db.session.connection()
    types = [table.c[name].type.dialect_impl(connection.dialect) for name in names]
    converts = [kind.bind_processor(connection.dialect) for kind in types]
    if on_postgresql():
        _copy(connection, f"COPY {table.name} ({', '.join(names)}) FROM STDIN", _converted(rows, converts))
        return
    places = ", ".join("?" * len(names))
    insert = f"INSERT INTO {table.name} ({', '.join(names)}) VALUES ({places})"  # noqa: S608 (our own names)
    for chunk in chunks(_converted(rows, converts), INSERTED_AT_ONCE):
        connection.exec_driver_sql(insert, chunk)


def load_dicts(model: Any, rows: Sequence[dict[str, Any]]) -> None:
    """Add rows that all have the same columns. A column that is left out gets the default of the database, if any."""
    if len(rows) == 1:
        add_row_later(model, rows[0])
    elif rows:
        names = tuple(rows[0])
        load(model, names, (tuple(row[name] for name in names) for row in rows))


def analyse() -> None:
    """Update the planner's statistics of the loaded tables, in the current transaction."""
    begin()
    if on_postgresql():
        names = [model.__table__.name for model in LOADED]
        db.session.execute(text(f"ANALYZE {', '.join(names)}, project_search"))
        return
    db.session.execute(text("ANALYZE"))


def chunks(rows: Iterable[T], size: int) -> Iterator[list[T]]:
    """The rows in lists of `size`, the last one shorter."""
    remaining = iter(rows)
    while chunk := list(islice(remaining, size)):
        yield chunk


def _converted(rows: Iterable[tuple[Any, ...]], converts: Sequence[Convert]) -> Iterator[tuple[Any, ...]]:
    """The values as the driver wants them: the database's own types are not at work below SQLAlchemy."""
    for row in rows:
        yield tuple([convert(v) if convert else v for convert, v in zip(converts, row, strict=True)])


def _copy(connection: Connection, statement: str, rows: Iterable[tuple[Any, ...]]) -> None:
    driver: Any = connection.connection
    errors: Any = connection.dialect.loaded_dbapi.Error
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except errors as error:
        # As SQLAlchemy raises it: so a transaction that lost against another is run again, a constraint named.
        raise DBAPIError.instance(statement, None, error, errors, dialect=connection.dialect) from error
