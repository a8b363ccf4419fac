"""Sessions of PostgreSQL that outlive the application of a test.

A new session reads the catalogues at its first statements, which takes longer than the requests of most tests. So a
session that a test's application closes is made as new, and serves that of the next one.
"""

import os
import select
from collections import defaultdict
from typing import Any

from psycopg.pq import ConnStatus, ExecStatus, PGconn, TransactionStatus
from sqlalchemy.engine import make_url

from directory.db.deadline_connection import DeadlineConnection

MOST = 8  # of a process, with the same arguments
UNENDED = {TransactionStatus.INTRANS, TransactionStatus.INERROR}
_connect: Any = DeadlineConnection._connect_gen
_close = DeadlineConnection.close
_kept: dict[Any, list[Any]] = defaultdict(list)  # by the process, which may have been forked, and the arguments
_databases: set[tuple[bytes, bytes]] = set()
_ended = PGconn.connect_start(b"host=127.0.0.1 port=1")  # what a closed connection has in the place of its session
_ended.finish()


def keep(address: str) -> None:
    """Keep the sessions with a database from now on, but for those that a proxy or a pooler passes on."""
    url = make_url(address)
    _databases.add((str(url.database).encode(), str(url.port).encode()))
    DeadlineConnection._connect_gen = classmethod(_connected)  # type: ignore[assignment,method-assign]
    DeadlineConnection.close = _closed  # type: ignore[method-assign]


def _connected(cls: Any, conninfo: str = "") -> Any:
    key = os.getpid(), conninfo
    session = _taken(_kept[key])
    connection = (yield from _connect.__func__(cls, conninfo)) if session is None else cls(session)
    connection.kept_by = key
    return connection


def _taken(kept: list[Any]) -> Any:
    """A session that the server has not ended, or None."""
    while kept:
        session = kept.pop()
        poll = select.poll()
        poll.register(session.socket, select.POLLIN)
        if not poll.poll(0):
            return session
        session.finish()
    return None


def _closed(self: Any) -> None:
    session, kept = self.pgconn, _kept[getattr(self, "kept_by", None)]
    if self._closed or self._is_cancelled or len(kept) >= MOST or not _is_as_new(session):
        return _close(self)
    self._closed, self.pgconn = True, _ended
    session.notice_handler = session.notify_handler = None
    return kept.append(session)


def _is_as_new(session: Any) -> bool:
    """Whether a session could be made as new, and is with a database whose sessions are kept."""
    if session.status != ConnStatus.OK or (session.db, session.port) not in _databases:
        return False
    if session.transaction_status in UNENDED:
        session.exec_(b"ROLLBACK")
    if session.transaction_status != TransactionStatus.IDLE:
        return False
    discarded: bool = session.exec_(b"DISCARD ALL").status == ExecStatus.COMMAND_OK
    return discarded
