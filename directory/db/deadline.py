"""How long a request waits for PostgreSQL: not beyond its time, and not at all for a server known to be mute.

No timeout that the server keeps holds against a server that is frozen or out of reach without a word, and none of the
driver's holds once it is connected. So a request has a time by which its waits end, and a wait in silence makes a
thread ask, over a new connection, whether the server speaks at all. While it does not, whoever needs it is told at
once: else a few requests would hold all threads, and the next ones wait for those.
"""

import math
import select
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import errors
from psycopg.abc import RV, PQGen
from psycopg.pq import ExecStatus
from sqlalchemy import Engine, event
from sqlalchemy.exc import TimeoutError as PoolTimeout

SECONDS = 4.4  # for a request's waits; its answer is promised within 5
GRACE = 0.4  # seconds more, for the server to tell how it ended what was cancelled then
CONNECT = 2  # seconds at most for a new connection; no driver takes less
SILENCE = 1.0  # seconds after which a wait raises suspicion
ASK_EVERY = 0.25  # seconds
MOMENT = 0.1  # seconds between looks at what a silent wait may be waiting for
GOOD = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


class _Time(threading.local):
    """When the waits of this thread's request end, by time.monotonic(); None outside of requests: commands may wait.

    `waited` are the seconds for which the next request of this thread has waited for a thread.
    """

    ends: float | None = None
    waited: float = 0.0


_time = _Time()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Have this thread's waits for PostgreSQL end in `seconds`, by psycopg.OperationalError."""
    _time.ends = time.monotonic() + seconds
    try:
        yield
    finally:
        _time.ends = None


@contextmanager
def until(ends: float) -> Iterator[None]:
    """Have this thread's waits end at `ends`, by time.monotonic(), unless they end before."""
    before = _time.ends
    _time.ends = None if (earlier := min(ends, end())) == math.inf else earlier
    try:
        yield
    finally:
        _time.ends = before


@contextmanager
def paused() -> Iterator[None]:
    """Have this thread wait for another's request meanwhile, or for what is no request's."""
    before, _time.ends = _time.ends, None
    try:
        yield
    finally:
        _time.ends = before


def end() -> float:
    """When this thread's waits end, by time.monotonic()."""
    return math.inf if _time.ends is None else _time.ends


def require_time() -> None:
    """Raise sqlalchemy.exc.TimeoutError where this thread's time is over.

    What is sent then is not waited for: the server might do it after the caller was told that it is not done.
    """
    if _time.ends is not None and time.monotonic() > _time.ends:
        raise PoolTimeout("the request has no time left")


@contextmanager
def bounded() -> Iterator[None]:
    """Give a request of this thread its time, less what it has waited for the thread."""
    seconds, _time.waited = SECONDS - _time.waited, 0.0
    with within(seconds):
        yield


def have_waited(seconds: float) -> None:
    """Take as much from the time of this thread's next request: its caller waits since then."""
    _time.waited = seconds


def left(seconds: float) -> float:
    """As many seconds, or what this thread's request has left."""
    return min(seconds, max(0.0, end() - time.monotonic()))


class Bounded:
    """Gives each request of a WSGI application its time."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self.app = app

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        """Answer a request. Its body is complete then: nothing is read from the database later."""
        with bounded():
            return self.app(environ, start_response)


class Watch:
    """Whether the server speaks: looked after where somebody suspects that it does not, by one thread at a time."""

    def __init__(self) -> None:
        self.connect: Callable[[], psycopg.Connection[Any]] | None = None  # once one is known that did
        self._turn = threading.Lock()
        self._asking = self._away = False
        self._asked = 0.0

    @property
    def away(self) -> bool:
        """Whether it did not speak when last asked; while that is so it is asked again and again."""
        if self._away:
            self.suspect()
        return self._away

    def suspect(self) -> None:
        """Have it asked, by a thread, unless one is doing so or just has. Returns at once."""
        pause = ASK_EVERY if self._away else SILENCE
        with self._turn:
            if self._asking or self.connect is None or time.monotonic() < self._asked + pause:
                return
            self._asking = True
        threading.Thread(target=self._ask, args=(self.connect,), daemon=True).start()

    def _ask(self, connect: Callable[[], psycopg.Connection[Any]]) -> None:
        try:
            connect().close()  # within connect_timeout; a server that lets somebody in has spoken
            self._away = False
        except psycopg.Error:
            self._away = True
        finally:
            self._asked, self._asking = time.monotonic(), False


class PatientConnection(psycopg.Connection[Any]):
    """A connection whose waits end with the request's time, or when the server turns out to be mute."""

    watch: Watch

    def wait(self, gen: PQGen[RV], *args: Any, **options: Any) -> RV:
        """Wait as the driver does. Raises OperationalError where it takes too long."""
        ends = _time.ends
        return super().wait(gen if ends is None else self._patiently(gen, ends), *args, **options)

    def _patiently(self, gen: PQGen[RV], ends: float) -> PQGen[RV]:
        """The driver's own steps; it goes on from each when there is something to read, or some moments have passed."""
        began, cancelled = time.monotonic(), False
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if not ready and time.monotonic() > began + SILENCE:
                    self.watch.suspect()
                cancelled = self._end_in_time(ends, cancelled, silent=not ready)
                wanted = gen.send(ready)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]

    def result(self, seconds: float | None = None) -> Any:
        """The result of what was sent below the driver's cursors; waited for no longer than the request or `seconds`.

        Raises psycopg.Error.
        """
        libpq, results = self.pgconn, []
        until = math.inf if seconds is None else time.monotonic() + seconds
        while libpq.flush():
            self._ready(select.POLLIN | select.POLLOUT, until)
            libpq.consume_input()
        while True:
            while libpq.is_busy():
                self._ready(select.POLLIN, until)
                libpq.consume_input()
            if (result := libpq.get_result()) is None:
                break
            results.append(result)
        if not results:
            raise psycopg.OperationalError("the connection is closed")
        if results[-1].status not in GOOD:
            raise errors.error_from_result(results[-1])
        return results[-1]

    def _ready(self, wanted: int, until: float) -> None:
        """Wait for the socket. Raises OperationalError where it takes too long, also of a server that never pauses."""
        now = time.monotonic()
        if now > min(until, end() + GRACE):
            self._give_up()
        poll = select.poll()
        poll.register(self.pgconn.socket, wanted)
        if poll.poll(left(min(SILENCE, until - now)) * 1000):
            return
        self.watch.suspect()
        if until < math.inf:
            self._give_up()
        ends, cancelled = end(), False
        while not poll.poll(MOMENT * 1000):
            cancelled = self._end_in_time(ends, cancelled, silent=True)
            self.watch.suspect()

    def _end_in_time(self, ends: float, cancelled: bool, *, silent: bool) -> bool:
        """Cancel what takes too long, once, and give up where that does not help; whether it has been cancelled."""
        now = time.monotonic()
        if now > ends + GRACE or (silent and self.watch.away):
            self._give_up()
        if now > ends and not cancelled:
            self._cancel()
            return True
        return cancelled

    def _cancel(self) -> None:
        """Have the server stop: left alone, it would still do what the caller is told is not done."""
        try:
            self.cancel_safe(timeout=GRACE / 2)
        except psycopg.Error:
            self._give_up()

    def _give_up(self) -> None:
        self.close()  # what was asked for may come yet, and would be the answer to the next question
        raise psycopg.OperationalError("the database did not answer in time")


def prepare(engine: Engine) -> None:
    """Have the engine make patient connections, and hand out none while the server is away."""
    watch = Watch()

    @event.listens_for(engine, "do_connect")
    def connect(_dialect: Any, _record: Any, given: Any, named: dict[str, Any]) -> PatientConnection:
        if watch.away or left(CONNECT) < CONNECT:
            raise psycopg.OperationalError("the database does not answer")
        connection: Any = PatientConnection.connect(*given, **named)
        connection.watch = watch
        watch.connect = lambda: psycopg.connect(*given, **named)
        return connection  # type: ignore[no-any-return]

    @event.listens_for(engine, "checkout")
    def checkout(*_: Any) -> None:
        if watch.away:
            raise PoolTimeout("the database does not answer")
