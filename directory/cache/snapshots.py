"""Reads the database's snapshot, over a connection of its own.

PostgreSQL's snapshot names the transactions whose effects are visible. Two equal snapshots see the same rows, so an
answer that was made after one of them is valid at the other. Where they differ, the table `changes` says by what: its
triggers record which projects' votes changed, and that anything else was written that the public sees. SQLite has
`PRAGMA data_version`, which changes on a connection whenever another one commits, and says no more than that.
"""

from typing import Any, NamedTuple, Protocol

from sqlalchemy import Engine

from directory.db.statements import deallocate_all

TIMEOUT = 1.0  # seconds for a read; where the database takes longer, the application answers
LOOP_TIMEOUT = 0.05  # seconds for a read by the event loop, which holds up all connections


class VoteChange(NamedTuple):
    """A project whose number of votes changed, and the two numbers that it changed between."""

    project_id: int
    lowest: int
    highest: int


class SnapshotReader(Protocol):
    """A connection, made by the pool, that reads the snapshot."""

    connection: Any

    def read(self, since: Any, seconds: float) -> tuple[Any, list[VoteChange] | None]:
        """The current snapshot, and the votes that changed since another; None for these where anything may have."""

    def close(self) -> None:
        """Close the connection."""


def open_reader(engine: Engine) -> SnapshotReader:
    """A reader over a new connection. Raises what the driver raises."""
    connection = engine.raw_connection()
    connection.detach()  # it never returns to the pool
    kind = PostgresqlSnapshotReader if engine.dialect.name == "postgresql" else SqliteSnapshotReader
    return kind(connection)


class SqliteSnapshotReader:
    """Reads the version number that the commits of other connections change."""

    def __init__(self, connection: Any) -> None:
        self.connection, self._driver = connection, connection.dbapi_connection
        self._driver.execute(f"PRAGMA busy_timeout={int(LOOP_TIMEOUT * 1000)}")

    def close(self) -> None:
        """Close the connection."""
        self._driver.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, list[VoteChange] | None]:
        """The version number."""
        return self._driver.execute("PRAGMA data_version").fetchone()[0], None


class PostgresqlSnapshotReader:
    """Reads the snapshot below the driver's cursors, because every answer from the cache waits for this query."""

    NAME = b"directory_snapshot"
    MAX_CHANGES = 1_000  # rows of `changes` that a read returns; where there are more, anything may have changed
    # One statement, so that the changes are those that its own snapshot sees. A transaction is not visible in the last
    # snapshot if it began later, or if it was in progress then. Of the latter only those that have ended since are
    # looked up: so a transaction that stays open for long makes no read dearer, whatever is written meanwhile.
    # The first read, without a last snapshot, finds no changes.
    QUERY = b"""
        SELECT pg_current_snapshot(), c.transaction, c.project_id, c.low, c.high
        FROM (VALUES (1)) AS always LEFT JOIN (
            (SELECT * FROM changes WHERE transaction >= pg_snapshot_xmax($1::pg_snapshot))
            UNION ALL
            (SELECT * FROM changes WHERE transaction = ANY (ARRAY(
                SELECT x FROM pg_snapshot_xip($1) AS x WHERE pg_visible_in_snapshot(x, pg_current_snapshot())
            )))
            LIMIT %d
        ) AS c ON true
    """ % (MAX_CHANGES + 1)

    def __init__(self, connection: Any) -> None:
        self.connection, self._driver = connection, connection.dbapi_connection
        self._driver.autocommit = True
        deallocate_all(connection)  # a later DEALLOCATE ALL, for statements from its time in the pool, would drop ours
        # Any plan but the one by the index would also read old rows.
        for setting in (b"SET plan_cache_mode = force_generic_plan", b"SET enable_seqscan = off"):
            self._driver.pgconn.send_query(setting)
            self._driver.result(TIMEOUT)
        self._driver.pgconn.send_prepare(self.NAME, self.QUERY)
        self._driver.result(TIMEOUT)

    def close(self) -> None:
        """Close the connection."""
        self._driver.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, list[VoteChange] | None]:
        """The snapshot and the changes. Raises psycopg.Error, also where the server takes longer than `seconds`."""
        self._driver.pgconn.send_query_prepared(self.NAME, [since])
        result = self._driver.result(seconds)
        if result.ntuples > self.MAX_CHANGES:
            return result.get_value(0, 0), None
        changes = []
        for row in range(result.ntuples):
            if result.get_value(row, 1) is None:  # the one row of a snapshot without changes
                break
            values = [result.get_value(row, column) for column in (2, 3, 4)]
            if values[0] is None:
                return result.get_value(0, 0), None
            changes.append(VoteChange(*map(int, values)))
        return result.get_value(0, 0), changes
