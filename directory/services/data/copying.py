"""Everything of one database into another, of the same kind or not: the rule of `flask copy`.

Tables are copied row by row, with their ids. The target itself makes the tags, the index of own fields, standings, uses
of pictures and counters of the rows, by its triggers, and its search index. Sessions with what belongs to them, and
claims, stay behind.
The source is read in one snapshot; no other session may write to the target until the transaction ends.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import (
    Connection,
    FromClause,
    Row,
    Table,
    TableClause,
    and_,
    create_engine,
    delete,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError

from directory.db import first_rows
from directory.db.engine import configure, engine_options
from directory.db.errors import is_unavailable
from directory.db.paging import AnySelect
from directory.db.transactions import lift_time_limits, on_postgresql
from directory.errors import Conflict
from directory.extensions import db, modify
from directory.models import (
    DAY_COUNTS,
    FieldCount,
    LastUse,
    PasskeyChallenge,
    PictureUse,
    Project,
    ProjectField,
    ProjectTag,
    Review,
    ReviewClaim,
    RuleState,
    SavedReply,
    Session,
    SpamRule,
    TagCount,
    User,
    UserCount,
    UserSubmissions,
    VoteRanking,
)
from directory.services import bulk, health
from directory.services.catalog import search_index
from directory.services.catalog.queries import COUNTERS
from directory.services.data import counter_checks, recount

READ_AT_ONCE = 2_000
SEARCH = TableClause("project_search")
# The rows that triggers of the target add for new rows of a table. They go, since those of the source are copied.
MADE = {Project.__table__: Review, User.__table__: LastUse}


@dataclass(slots=True)
class Content:
    """The content of a table: the number of rows, and a checksum of their values, whatever their order."""

    rows: int = 0
    digest: int = 0

    def add(self, row: Row[Any]) -> None:
        """Add a row. Values that are equal on both databases are equal as JSON."""
        self.rows += 1
        self.digest ^= int.from_bytes(blake2b(orjson.dumps(tuple(row), default=bytes.hex), digest_size=16).digest())


@dataclass(frozen=True, slots=True)
class Comparison:
    """The numbers of a table's rows on both sides, and whether their contents are equal."""

    name: str
    source: int
    target: int
    alike: bool


def tables() -> list[Table]:
    """The tables that are copied row by row, each after those that it refers to."""
    derived = (PictureUse, FieldCount, ProjectField, ProjectTag, VoteRanking, TagCount, UserCount, UserSubmissions)
    models = (Session, PasskeyChallenge, ReviewClaim, *derived)
    others = {DAY_COUNTS, *(model.__table__ for model in models)}
    return [table for table in db.metadata.sorted_tables if table not in others]


@contextmanager
def opened(url: URL) -> Iterator[Connection]:
    """The database to copy, as one snapshot. Raises Conflict if it is not of this version."""
    postgresql = url.get_backend_name() == "postgresql"
    if not postgresql and not Path(url.database or "").is_file():  # which would otherwise be made
        raise Conflict(f"There is no file {url.database}.")
    options = engine_options(url.render_as_string(hide_password=False), threads=1)
    engine = create_engine(url, **options | ({"isolation_level": "REPEATABLE READ"} if postgresql else {}))
    configure(engine)
    try:
        with engine.connect() as connection:
            lift_time_limits(connection)  # on both sides: each waits for the other
            _require_migrated(connection, "The database to copy")
            yield connection
    finally:
        engine.dispose()


def begin() -> None:
    """Make the current transaction the target's only one. Raises Conflict if there is anything in it."""
    connection = db.session.connection()
    _require_migrated(connection, "The database to fill")
    everything = db.metadata.sorted_tables
    if on_postgresql():
        lift_time_limits()
        names = ", ".join(table.name for table in everything)
        connection.exec_driver_sql(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE")
    # Those that come with the service.
    modify(delete(SpamRule).where(SpamRule.version == 1, SpamRule.state == RuleState.OFF))
    replies = (reply for of_decision in first_rows.REPLIES.values() for reply in of_decision.items())
    of_service = [and_(SavedReply.name == name, SavedReply.text == words) for name, words in replies]
    modify(delete(SavedReply).where(or_(*of_service)))
    filled = [table.name for table in everything if connection.execute(select(table).limit(1)).first()]
    if filled:
        raise Conflict(f"The database to fill is not empty; it has {', '.join(filled)}.")
    bulk.begin()


def copy(source: Connection, table: Table, advance: Callable[[int], None]) -> Content:
    """Copy the rows of a table and return the source's content. Raises Conflict if the target cannot store a row."""
    content = Content()
    names = tuple(column.name for column in _columns(table))
    with _read(source, table) as chunks:
        for rows in chunks:
            for row in rows:
                content.add(row)
            try:
                bulk.load(table, names, rows)
                if table is Project.__table__:
                    search_index.index(rows)
                if table in MADE:
                    db.session.execute(delete(MADE[table]))
            except DBAPIError as error:
                if is_unavailable(error):
                    raise
                raise Conflict(f"{table.name}: {str(error.orig).strip().splitlines()[0]}") from error
            advance(len(rows))
    return content


def compare(source: Connection, copied: dict[str, Content]) -> list[Comparison]:
    """The content of both sides now, without the sessions. Rows that the source got since then are differences."""
    derived = {
        model.__table__: _content(source, model.__table__) for model in (ProjectTag, ProjectField, PictureUse)
    }  # by triggers
    source.rollback()  # from here on the counts are no longer those of the snapshot
    lift_time_limits(source)
    comparisons = []
    for table in (*tables(), *derived):
        target = _content(db.session.connection(), table)
        same = target == (copied[table.name] if table.name in copied else derived[table])
        number = size(source, table)
        comparisons.append(Comparison(table.name, number, target.rows, same and number == target.rows))
    entries = size(source, SEARCH), size(db.session.connection(), SEARCH)
    return [*comparisons, Comparison(SEARCH.name, *entries, entries[0] == entries[1])]


def recounted() -> recount.Look:
    """The target's counters, ranks, standings, tags and search entries against its rows, under the locks of `begin`."""
    bulk.analyse()
    looks = [recount.look(scope) for scope in recount.scopes()]
    faults = [fault for look in looks for fault in look.faults] + counter_checks.look_beside()
    return recount.Look(sum(look.projects for look in looks), sum(look.votes for look in looks), faults)


def number_on(source: Connection) -> None:
    """Have the target give the ids that the source would have given next.

    Not those after the highest present id: the log has the ids of deleted projects, which others must not get.
    """
    for table in tables():
        if "id" in table.c:
            bulk.number_from(table, 1 + _last_number(source, table))


def size(connection: Connection, table: FromClause) -> int:
    """How many rows there are."""
    return int(connection.execute(select(func.count()).select_from(table)).scalar_one())


def _require_migrated(connection: Connection, which: str) -> None:
    present, wanted = health.migrations(connection), health.heads()
    if present != wanted:
        at = f"at migration {', '.join(present)}" if present else "not migrated"
        raise Conflict(f"{which} is {at}: set DATABASE_URL to it and run `flask db upgrade`, to {', '.join(wanted)}.")


def _selected(table: Table) -> AnySelect:
    """The values of a table's rows, with 0 for the counters, which triggers keep.

    A row that refers to another of its table comes after that one, which is older and has the lower id.
    """
    values = select(*(literal(0).label(c.name) if c in _COUNTED else c for c in _columns(table)))
    refers_to_itself = any(key.column.table is table for key in table.foreign_keys)
    return values.order_by(table.c.id) if refers_to_itself else values


def _columns(table: Table) -> list[Any]:
    return [column for column in table.c if column.computed is None]


_COUNTED = frozenset(COUNTERS.values())


@contextmanager
def _read(connection: Connection, table: Table) -> Iterator[Iterator[Sequence[Row[Any]]]]:
    """The rows of a table in chunks, from a cursor that is closed at the end, also after an error."""
    with connection.execute(_selected(table), execution_options={"yield_per": READ_AT_ONCE}) as result:
        yield result.partitions()


def _content(connection: Connection, table: Table) -> Content:
    content = Content()
    with _read(connection, table) as chunks:
        for row in chain.from_iterable(chunks):
            content.add(row)
    return content


def _last_number(source: Connection, table: Table) -> int:
    """The highest id that was ever given."""
    query = "SELECT seq FROM sqlite_sequence WHERE name = :name"
    if source.dialect.name == "postgresql":
        query = "SELECT pg_sequence_last_value(CAST(pg_get_serial_sequence(:name, 'id') AS regclass))"
    last = source.execute(text(query), {"name": table.name}).scalar()
    return max(last or 0, source.execute(select(func.max(table.c.id))).scalar() or 0)
