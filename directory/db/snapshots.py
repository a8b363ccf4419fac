"""Reads the database's snapshot, and the changes since an earlier one, over a connection of its own.

PostgreSQL's snapshot names the transactions whose effects are visible. Equal snapshots see the same rows, so a response
that was made at one of them is valid at the other. If they differ, the table `changes` contains the difference:
triggers record the projects whose votes changed, and that any other public data was written. SQLite has only `PRAGMA
data_version`, which changes on a connection whenever another one commits.
"""

import re
import time
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, Engine, Integer, String, bindparam, column, null, select, text, union_all

from directory.db.batched_query import BatchedQuery
from directory.db.statements import Prepared, Row, use_connection

BUSY_SECONDS = 0.05  # timeout of a read's wait for a writer of the same SQLite file
PREPARE_SECONDS = 1.0  # for each statement when a connection is opened
# After so many reads in a row with an unchanged snapshot, the next reads the snapshot alone, which takes PostgreSQL two
# thirds of the time. This raised the rate of `list_mix` in the bench (16 connections, two processes, 100,000 projects)
# to 1.16 times. If the snapshot differs, a second statement reads the changes.
QUIET_READS = 8


class VoteChange(NamedTuple):
    """A project whose number of votes changed, the two numbers that it changed between, and the project's category.

    The category is None if the release before noted the change.
    """

    project_id: int
    lowest: int
    highest: int
    category_id: int | None = None


Changes = list[VoteChange] | None  # None if anything may have changed
SnapshotWithRows = tuple[Any, Changes, list[Row | None]]


class SqliteSnapshotReader:
    """Reads the version number that the commits of other connections change."""

    def __init__(self, connection: Any) -> None:
        self.connection, self._driver = connection, connection.dbapi_connection
        self._driver.execute(f"PRAGMA busy_timeout={int(BUSY_SECONDS * 1000)}")

    def close(self) -> None:
        """Close the connection."""
        self._driver.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, Changes]:
        """The version number."""
        return self._driver.execute("PRAGMA data_version").fetchone()[0], None

    def read_with(self, since: Any, seconds: float, query: BatchedQuery, asked: list[Row]) -> SnapshotWithRows:
        """The version number and the rows, read in one transaction. Needs an application context."""
        self._driver.execute("BEGIN DEFERRED")
        try:
            state, changes = self.read(since, seconds)
            with use_connection(self.connection, seconds):
                return state, changes, query.all(asked)
        finally:
            self._driver.execute("ROLLBACK")


_SNAPSHOT = "SELECT pg_current_snapshot() AS snapshot, {server} AS server"
# One statement, so that the changes are those that its own snapshot sees. A transaction is not visible in the last
# snapshot if it began later, or if it was in progress then. Of the latter only those that have ended since are looked
# up, so a transaction that stays open for long does not make reads slower. The first read, without a last snapshot,
# finds no changes. `server` identifies the server if the connection can reach several.
_CHANGES_SINCE = """
    SELECT pg_current_snapshot() AS snapshot, {server} AS server,
        c.transaction, c.project_id, c.low, c.high, c.category_id
    FROM (VALUES (1)) AS always LEFT JOIN (
        (SELECT * FROM changes WHERE transaction >= pg_snapshot_xmax(CAST({since} AS pg_snapshot)))
        UNION ALL
        (SELECT * FROM changes WHERE transaction = ANY (ARRAY(
            SELECT x FROM pg_snapshot_xip(CAST({since} AS pg_snapshot)) AS x
            WHERE pg_visible_in_snapshot(x, pg_current_snapshot())
        )))
        LIMIT {most}
    ) AS c ON true
"""


# Another server, such as a promoted standby, may reuse transaction ids; so may a server that has recovered from a
# crash, which resets its statistics.
_SERVER = "concat(pg_postmaster_start_time(), '/', pg_stat_get_bgwriter_stat_reset_time())"
_SEPARATOR = b"@"  # in a state, between the snapshot and the server


def _state(snapshot: bytes, server: bytes | None) -> bytes:
    """The snapshot and the server as one value, which the cache stores."""
    return snapshot if server is None else snapshot + _SEPARATOR + server


@lru_cache
def _together(server: str, query: BatchedQuery) -> Prepared:
    """One statement for the snapshot, the changes (rows whose `place` is null), and the rows of the query."""
    sql = text(_CHANGES_SINCE.format(since=":since", server=server, most=PostgresqlSnapshotReader.MAX_CHANGES + 1))
    columns = column("snapshot", String), column("server", String), column("transaction", String)
    changes = sql.bindparams(bindparam("since", type_=String())).columns(
        *columns,
        column("project_id", BigInteger),
        column("low", Integer),
        column("high", Integer),
        column("category_id", BigInteger),
    )
    seen, answers = changes.subquery("seen"), query.several.subquery("found")
    return Prepared(
        union_all(
            select(*seen.c, *(null().label(member.name) for member in answers.c)),
            select(*(null() for _ in seen.c), *answers.c),
        )
    )


class PostgresqlSnapshotReader:
    """Reads the snapshot without the driver's cursors, because every response from the cache waits for this query.

    After QUIET_READS unchanged snapshots it reads the snapshot alone, and the changes only if it differs.
    """

    SNAPSHOT, CHANGES = b"directory_snapshot", b"directory_changes"  # the prepared statements
    MAX_CHANGES = 1_000  # rows of `changes` that a read returns; with more, anything may have changed
    SERVER = "NULL"  # a direct connection reaches one server
    QUERIES = (
        _SNAPSHOT.format(server=SERVER).encode(),
        _CHANGES_SINCE.format(since="$1", server=SERVER, most=MAX_CHANGES + 1).encode(),
    )

    def __init__(self, connection: Any) -> None:
        self.connection, self._driver = connection, connection.dbapi_connection
        self._unchanged = 0  # calls of `read` in a row that asked for changes and found the same snapshot
        self._driver.autocommit = True
        self._prepare()

    def close(self) -> None:
        """Close the connection."""
        self._driver.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, Changes]:
        """The snapshot and the changes. Raises psycopg.Error, also if the server takes longer than `seconds`.

        If two statements are needed, they have half as long again.
        """
        give_up_at, at_least = time.monotonic() + seconds, 0.0
        if self._unchanged >= QUIET_READS:
            self._send_snapshot()
            result = self._driver.result(seconds)
            if _state(result.get_value(0, 0), result.get_value(0, 1)) == since:
                return since, []
            at_least = seconds / 2  # so that a late first answer does not close the connection
        self._send_changes(None if since is None else since.partition(_SEPARATOR)[0])
        result = self._driver.result(max(at_least, give_up_at - time.monotonic()))
        rows = ([result.get_value(row, column) for column in range(2, 7)] for row in range(result.ntuples))
        outcome = self._outcome(since, result.get_value(0, 0), result.get_value(0, 1), rows, result.ntuples)
        self._unchanged = self._unchanged + 1 if outcome[0] == since else 0
        return outcome

    def read_with(self, since: Any, seconds: float, query: BatchedQuery, asked: list[Row]) -> SnapshotWithRows:
        """The same with the rows. Needs an application context, and raises SQLAlchemy's errors."""
        known = None if since is None else since.partition(_SEPARATOR)[0].decode()
        with use_connection(self.connection, seconds):
            rows = _together(self.SERVER, query).all({"since": known, **query.named(asked)})
        seen, answers = [row[:7] for row in rows if row[7] is None], [row[7:] for row in rows if row[7] is not None]
        snapshot, server = (value and value.encode() for value in seen[0][:2])
        outcome = self._outcome(since, snapshot, server, (row[2:] for row in seen), len(seen))
        return *outcome, query.placed(answers, len(asked))

    def _prepare(self) -> None:
        from directory.db.compiled_postgresql import deallocate_all  # psycopg is for PostgreSQL alone

        deallocate_all(self.connection)  # a later DEALLOCATE ALL, for statements from its time in the pool, drops ours
        # Any plan without the index would also read old rows.
        for setting in (b"SET plan_cache_mode = force_generic_plan", b"SET enable_seqscan = off"):
            self._driver.pgconn.send_query(setting)
            self._driver.result(PREPARE_SECONDS)
        for name, query in zip((self.SNAPSHOT, self.CHANGES), self.QUERIES, strict=True):
            self._driver.pgconn.send_prepare(name, query)
            self._driver.result(PREPARE_SECONDS)

    def _send_snapshot(self) -> None:
        self._driver.pgconn.send_query_prepared(self.SNAPSHOT, [])

    def _send_changes(self, since: bytes | None) -> None:
        self._driver.pgconn.send_query_prepared(self.CHANGES, [since])

    def _outcome(
        self, since: bytes | None, snapshot: bytes, server: bytes | None, rows: Iterable[Any], count: int
    ) -> tuple[bytes, Changes]:
        """The state of a read, and the changes since the previous state; None if another server answered."""
        if server is not None and since is not None and since.partition(_SEPARATOR)[2] != server:
            return _state(snapshot, server), None
        return _state(snapshot, server), self._changes(rows, count)

    def _changes(self, rows: Iterable[Any], count: int) -> Changes:
        """The changes from rows of transaction, project, lowest and highest number of votes, and category."""
        if count > self.MAX_CHANGES:
            return None
        changes = []
        for transaction, project_id, low, high, category_id in rows:
            if transaction is None:  # the one row of a snapshot without changes
                break
            if project_id is None:
                return None
            category = None if category_id is None else int(category_id)
            changes.append(VoteChange(int(project_id), int(low), int(high), category))
        return changes


class PooledSnapshotReader(PostgresqlSnapshotReader):
    """The same through a connection pooler: statements and settings last for one read, and the server may change."""

    SERVER = _SERVER
    QUERIES = (
        _SNAPSHOT.format(server=SERVER).encode(),
        b"SET LOCAL enable_seqscan = off; "
        + _CHANGES_SINCE.format(
            since="%(since)b", server=SERVER, most=PostgresqlSnapshotReader.MAX_CHANGES + 1
        ).encode(),
    )
    FORM = re.compile(rb"[0-9:,]+")  # of a snapshot

    def _prepare(self) -> None:
        """Nothing is prepared."""

    def _send_snapshot(self) -> None:
        self._driver.pgconn.send_query(self.QUERIES[0])

    def _send_changes(self, since: bytes | None) -> None:
        """Send both statements in one message, which makes them one transaction but allows no parameters."""
        if since is not None and not self.FORM.fullmatch(since):
            raise ValueError("this is not a snapshot")
        self._driver.pgconn.send_query(self.QUERIES[1] % {b"since": b"NULL" if since is None else b"'%b'" % since})


SnapshotReader = SqliteSnapshotReader | PostgresqlSnapshotReader


def open_reader(engine: Engine) -> SnapshotReader:
    """A reader over a new connection. Raises the driver's errors."""
    connection = engine.raw_connection()
    connection.detach()  # it never returns to the pool
    if engine.dialect.name != "postgresql":
        return SqliteSnapshotReader(connection)
    if connection.dbapi_connection.is_pooled:  # type: ignore[union-attr]
        return PooledSnapshotReader(connection)
    return PostgresqlSnapshotReader(connection)
