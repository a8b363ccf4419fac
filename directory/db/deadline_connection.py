"""Connections to PostgreSQL whose waits end at the deadline, or when the circuit breaker opens.

Timeouts in the server do not help if the server is frozen or unreachable, and the driver has no timeout for an open
connection. So the connection itself checks the time while it waits for the socket.
"""

import logging
import math
import select
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import errors
from psycopg.abc import RV, PQGen
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult
from sqlalchemy import Engine, event
from sqlalchemy.exc import DisconnectionError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.db import clock, deadline
from directory.db.circuit_breaker import CircuitBreaker
from directory.db.pooler import Route, is_lost

log = logging.getLogger(__name__)

CONNECT_SECONDS = 2  # timeout for a new connection, the shortest that the driver accepts
GRACE = 0.4  # seconds after the deadline in which the server may confirm that it has cancelled the statement
# Seconds without an answer after which the circuit breaker probes the server: less than a thread's timeout for a read
# of the snapshot, and more than the event loop's, which a server that is only slow can exceed.
SILENCE = 0.9
INTERVAL = 0.1  # seconds between two checks of the time during a silent wait
SUCCESS = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


class Servers:
    """The servers of an engine, one of which is the primary, and that of the newest connection (None before the first).

    PostgreSQL does not notify clients of a failover; the first new connection to another server shows it. From then on
    connections to the previous server are not used: it may be unreachable, or still answer although it was replaced.
    """

    def __init__(self) -> None:
        self.current: str | None = None
        self._silent: set[str] = set()

    def attempts(self, named: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
        """Each server's name and the driver's arguments for it: the current one first, those that did not answer last.

        An attempt that gets no answer takes connect_timeout, and a request hardly has time for two.
        """
        hosts, ports = str(named.get("host", "")).split(","), str(named.get("port", "")).split(",")
        if len(ports) == 1:
            ports *= len(hosts)
        if len(hosts) == 1 or len(ports) != len(hosts) or "hostaddr" in named:
            return [("", dict(named))]  # the driver tries them in their order, or reports the error
        attempts = [
            (f"{host}:{port}", {**named, "host": host, "port": port}) for host, port in zip(hosts, ports, strict=True)
        ]
        return sorted(attempts, key=lambda attempt: (attempt[0] in self._silent, attempt[0] != self.current))

    def connected(self, server: str) -> None:
        """Record that a new connection reached this server."""
        if self.current not in {None, server}:
            log.warning("another server of DATABASE_URL is the primary", extra={"server": server})
        self.current = server
        self._silent.discard(server)

    def timed_out(self, server: str) -> None:
        """Record that this server did not answer."""
        self._silent.add(server)


class DeadlineConnection(psycopg.Connection[Any]):
    """A connection that cancels its statement at the deadline, and closes itself if the server does not confirm."""

    breaker: CircuitBreaker
    servers: Servers
    server: str  # the name of its server in `servers`
    is_pooled = False  # whether it goes through a connection pooler
    _is_behind = False  # whether results of queued statements have still to be read
    _is_cancelled = False  # whether the server was asked to cancel the last statement

    @property
    def is_superseded(self) -> bool:
        """Whether a later connection reached another server, which is now the primary."""
        return self.server != self.servers.current

    def queue(self) -> bool:
        """Queue the statement that is sent next, and return whether it can be queued.

        The next `result` sends the queued statements to PostgreSQL together with the one after them. If one fails, the
        later ones are not run, and its error is raised. Outside of a transaction nothing is queued, because no `result`
        might follow, and behind a pooler nothing is, because it may not support that.
        """
        if self.autocommit or self.is_pooled:
            return False
        if not self._is_behind:
            self.pgconn.enter_pipeline_mode()
            self._is_behind = True
        return True

    def begin(self) -> None:
        """Begin the transaction that the connection is to have, unless it is in one; the driver's cursors do it too.

        Raises psycopg.Error.
        """
        if not self.autocommit and self.pgconn.transaction_status == TransactionStatus.IDLE:
            is_queued = self.queue()
            self.pgconn.send_query_params(self._get_tx_start_command(), None)
            if not is_queued:
                self.result()

    def commit(self) -> None:
        """Commit the transaction. Raises psycopg.Error, also if the commit may not be durable.

        If a queued statement fails, the transaction is rolled back, as when PostgreSQL refuses a commit.
        """
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        if self._is_behind:
            self.pgconn.send_query_params(b"COMMIT", None)
        else:
            self.pgconn.send_query(b"COMMIT")
        try:
            self.result()
        except psycopg.Error:
            with suppress(psycopg.Error):
                self.rollback()
            raise

    def rollback(self) -> None:
        """Roll back, whatever becomes of queued statements. Raises psycopg.Error."""
        with suppress(psycopg.Error):
            self.catch_up()
        super().rollback()

    def catch_up(self) -> None:
        """Wait for queued statements. Raises psycopg.Error."""
        if self._is_behind:
            self.result()

    def wait(self, gen: PQGen[RV], *args: Any, **options: Any) -> RV:
        """Wait as the driver does. Raises psycopg.OperationalError if that takes too long."""
        self.catch_up()
        expires_at = deadline.expires_at()
        return super().wait(gen if expires_at == math.inf else self._watched(gen, expires_at), *args, **options)

    def _watched(self, gen: PQGen[RV], expires_at: float) -> PQGen[RV]:
        """The driver's own steps, with a check of the time after each: when the socket is ready, or after a pause."""
        began, self._is_cancelled = time.monotonic(), False
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready:
                    self._probe_after_silence(began)
                self._enforce(expires_at, is_silent=not ready)
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def result(self, seconds: float | None = None) -> Any:
        """The result of a statement that was sent directly through libpq, without the driver's cursors.

        Those of queued statements are read before it. With `seconds` the connection is closed if the result takes
        longer, without an attempt to cancel. Raises psycopg.Error.
        """
        libpq, self._is_cancelled = self.pgconn, False
        give_up_at = math.inf if seconds is None else time.monotonic() + seconds
        if self._is_behind:
            libpq.pipeline_sync()
        while libpq.flush():
            self._wait_for_socket(select.POLLIN | select.POLLOUT, give_up_at)
            libpq.consume_input()
        results = [*self._results(give_up_at)]
        if not results:
            raise psycopg.OperationalError("the connection is closed")
        if failed := next((result for result in results if result.status not in SUCCESS), None):
            raise errors.error_from_result(failed)
        self._require_certainty()
        return results[-1]

    def _results(self, give_up_at: float) -> Iterator[PGresult]:
        """The results of one statement or, where some were queued, of all up to the mark behind the last one."""
        libpq = self.pgconn
        while True:
            while libpq.is_busy():
                self._wait_for_socket(select.POLLIN, give_up_at)
                libpq.consume_input()
            result = libpq.get_result()
            if result is None:
                if not self._is_behind or libpq.status == ConnStatus.BAD:
                    return
            elif result.status == ExecStatus.PIPELINE_SYNC:
                libpq.exit_pipeline_mode()
                self._is_behind = False
                return
            else:
                yield result

    def _wait_for_socket(self, wanted: int, give_up_at: float) -> None:
        """Wait for the socket. Raises psycopg.OperationalError when it is too late.

        The time is checked first, because the socket is always ready if a server sends its answer byte by byte.
        """
        now = time.monotonic()
        if now > min(give_up_at, deadline.expires_at() + GRACE):
            self._give_up()
        poll = select.poll()
        poll.register(self.pgconn.socket, wanted)
        if poll.poll(deadline.remaining(min(SILENCE, give_up_at - now)) * 1000):
            return
        self._probe_after_silence(now)
        if give_up_at < math.inf:
            self._give_up()
        expires_at = deadline.expires_at()
        while not poll.poll(INTERVAL * 1000):
            self._enforce(expires_at, is_silent=True)
            self._probe_after_silence(now)

    def _probe_after_silence(self, since: float) -> None:
        if time.monotonic() >= since + SILENCE:
            self.breaker.probe()

    def _enforce(self, expires_at: float, *, is_silent: bool) -> None:
        """Cancel the statement at the deadline, and close the connection if that fails."""
        now = time.monotonic()
        if now > expires_at + GRACE or (is_silent and (self.breaker.check_open() or self.is_superseded)):
            self._give_up()
        if now > expires_at and not self._is_cancelled:
            self._cancel()

    def _require_certainty(self) -> None:
        """Close the connection if a success does not mean that the writes are durable.

        A commit can wait for a synchronous standby. If it is cancelled then, PostgreSQL warns and reports success, but
        only this server has the data. And another server may have replaced this one.
        """
        if self._is_cancelled:
            self._give_up()
        if self.is_superseded:
            self._give_up("another server has taken the place of this one")

    def _cancel(self) -> None:
        """Ask the server to cancel the statement: otherwise it could execute it after the caller got an error."""
        self._is_cancelled = True
        try:
            self.cancel_safe(timeout=GRACE / 2)
        except psycopg.Error:
            self._give_up()

    def _give_up(self, reason: str = "the database did not answer in time") -> None:
        self.close()  # otherwise a late answer would be read as the answer to the next statement
        raise psycopg.OperationalError(reason)


class Connector:
    """Makes the connections of an engine, to the server of DATABASE_URL that accepts writes."""

    def __init__(self) -> None:
        self.breaker, self.route, self.servers = CircuitBreaker(), Route(), Servers()

    def connect(self, positional: Any, named: dict[str, Any]) -> DeadlineConnection:
        """A new connection; the server has answered over it. Raises psycopg.Error."""
        failures: list[psycopg.OperationalError] = []
        for server, arguments in self.servers.attempts(named):
            if deadline.remaining(CONNECT_SECONDS) < CONNECT_SECONDS:
                raise psycopg.OperationalError("the request has no time left to connect to the database")
            try:
                return self._connect_to(server, positional, arguments)
            except psycopg.OperationalError as error:
                failures.append(error)
                if isinstance(error, errors.ConnectionTimeout):
                    self.servers.timed_out(server)
        raise failures[0]

    def _connect_to(self, server: str, positional: Any, named: dict[str, Any]) -> DeadlineConnection:
        connection: DeadlineConnection = self.route.open(DeadlineConnection.connect, positional, named)
        connection.breaker, connection.servers, connection.server = self.breaker, self.servers, server
        self.servers.connected(server)
        try:
            with deadline.within(CONNECT_SECONDS):
                self.route.examine(connection)
        except BaseException:
            connection.close()
            raise
        connection.is_pooled = self.route.is_pooled
        return connection


def install(engine: Engine) -> None:
    """Make a PostgreSQL engine use such connections, and refuse them while its circuit breaker is open."""
    connector = Connector()
    breaker = connector.breaker

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, positional: Any, named: dict[str, Any]) -> DeadlineConnection:
        if breaker.check_open():
            raise psycopg.OperationalError("the database does not answer")
        connection = connector.connect(positional, named)
        # This also queries the server, because a pooler accepts connections while its server is unreachable.
        breaker.connect = lambda: connector.connect(positional, named)
        return connection

    @event.listens_for(engine, "checkout")
    def checkout(driver: DeadlineConnection, *_: Any) -> None:
        if breaker.check_open():
            raise PoolTimeout("the database does not answer")
        if driver.is_superseded:
            raise DisconnectionError

    @event.listens_for(engine, "handle_error")
    def handle_error(context: Any) -> None:
        if is_lost(context.original_exception, is_pooled=connector.route.is_pooled):
            context.is_disconnect = True

    event.listen(engine, "checkout", _require_open)


def _require_open(driver: Any, _record: Any, _proxy: Any) -> None:
    """Check without a round trip that the server has not closed a pooled connection.

    The server sends nothing on an idle connection, so a readable socket means that it is closed. Raises
    InvalidatePoolError, which makes the pool open new connections.
    """
    poll = select.poll()
    poll.register(driver.pgconn.socket, select.POLLIN)
    if poll.poll(0):
        raise InvalidatePoolError
    if clock.is_due():
        _learn_time(driver)


def _learn_time(driver: Any) -> None:
    """Ask the database for its time, over an idle connection. Raises InvalidatePoolError if that fails."""
    asked_at = clock.steady()
    try:
        driver.pgconn.send_query(f"SELECT {clock.STATEMENT}".encode())
        clock.learn(driver.result().get_value(0, 0).decode(), asked_at)
    except psycopg.Error:
        raise InvalidatePoolError from None
