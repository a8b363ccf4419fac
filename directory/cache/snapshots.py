"""The mark of the database, which tells one moment from another: read over a connection that is kept for it.

PostgreSQL's snapshot names the transactions whose effects are visible. Two equal snapshots see the same rows, so an
answer made after one was taken still holds while the next is equal. Where they differ, the table `changes` tells by
what: its triggers note which projects' votes moved, and that anything else which the public sees was written. SQLite
has `PRAGMA data_version`, which changes on a connection whenever another commits, and tells no more than that.
"""

from typing import Any, NamedTuple, Protocol

from sqlalchemy import Engine

from directory.db.statements import unprepare

TIMEOUT = 1.0  # seconds; a database that is mute for longer is the application's to report
AT_ONCE = 0.05  # seconds at most that the server's event loop waits, in which other clients wait


class Moved(NamedTuple):
    """A project whose votes moved, between two numbers."""

    project_id: int
    low: int
    high: int


class Probe(Protocol):
    """A connection of the pool's making that is asked for the mark."""

    connection: Any

    def read(self, since: Any, seconds: float) -> tuple[Any, list[Moved] | None]:
        """The present mark, and the votes that moved since another; None for them where anything may have changed."""

    def close(self) -> None:
        """Close the connection."""


def probe(engine: Engine) -> Probe:
    """A new probe. Raises what the driver raises."""
    connection = engine.raw_connection()
    connection.detach()  # it is never given back to the pool
    kind = PostgresqlProbe if engine.dialect.name == "postgresql" else SqliteProbe
    return kind(connection)


class SqliteProbe:
    """Asks for the version that other connections' commits change."""

    def __init__(self, connection: Any) -> None:
        self.connection, self._connection = connection, connection.dbapi_connection
        self._connection.execute(f"PRAGMA busy_timeout={int(AT_ONCE * 1000)}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, list[Moved] | None]:
        """The version."""
        return self._connection.execute("PRAGMA data_version").fetchone()[0], None


class PostgresqlProbe:
    """Asks for the snapshot, below the driver's cursors: it is the one query that every cached answer pays."""

    NAME = b"directory_moment"
    MOST = 1_000  # rows of `changes` that a read returns; where there are more, anything may have changed
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
    """ % (MOST + 1)

    def __init__(self, connection: Any) -> None:
        self.connection, self._connection = connection, connection.dbapi_connection
        self._connection.autocommit = True
        unprepare(connection)  # else those of its time in the pool might come to take the moment's along
        # Any plan but the index's would read the rows of long ago as well.
        for setting in (b"SET plan_cache_mode = force_generic_plan", b"SET enable_seqscan = off"):
            self._connection.pgconn.send_query(setting)
            self._connection.result(TIMEOUT)
        self._connection.pgconn.send_prepare(self.NAME, self.QUERY)
        self._connection.result(TIMEOUT)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def read(self, since: Any, seconds: float) -> tuple[Any, list[Moved] | None]:
        """The snapshot and what has changed. Raises psycopg.Error, also where the server is mute for too long."""
        self._connection.pgconn.send_query_prepared(self.NAME, [since])
        told = self._connection.result(seconds)
        if told.ntuples > self.MOST:
            return told.get_value(0, 0), None
        moved = []
        for row in range(told.ntuples):
            if told.get_value(row, 1) is None:  # nothing has
                break
            values = [told.get_value(row, column) for column in (2, 3, 4)]
            if values[0] is None:
                return told.get_value(0, 0), None
            moved.append(Moved(*map(int, values)))
        return told.get_value(0, 0), moved
