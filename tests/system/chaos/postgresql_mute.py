"""PostgreSQL says nothing, or little by little: connections stay open, and only time tells."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from typing import NamedTuple

import psutil

from tests.support import servers
from tests.system.chaos import Outcome, load, paced, scenario
from tests.system.chaos.actors import everybody, reader, toggler
from tests.system.chaos.load import (
    Answer,
    Load,
    Step,
    expect,
    slowest,
    statuses,
    told,
    until_good,
)
from tests.system.chaos.stage import Stage, stage

BOUND = 5.0  # seconds within which a request is answered, whatever the database does


def many_callers(at: Stage) -> list[Step]:
    """More callers than the service has threads: writers, and readers with and without an account."""
    readers = [reader(at) for _ in range(4)]
    return [*everybody(at), *readers, *(toggler(at, person) for person in at.members[5:]), reader(at, at.members[0])]


def alive(at: Stage) -> Step:
    return lambda: at.ask("GET", "/healthz")


def ready(at: Stage) -> Step:
    return lambda: at.ask("GET", "/readyz")


def bounded(answers: list[Answer]) -> None:
    """Every caller had an answer of the service in time."""
    expect(answers, 200, 201, 204, 403, 404, 409, 503)
    assert slowest(answers) < BOUND + load.LATE, f"{slowest(answers):.1f} s for an answer"
    refused = [answer for answer in answers if answer.status == 503]
    assert {answer.type for answer in refused} <= {"application/problem+json"}


class Siege(NamedTuple):
    """Callers who ask all the while, and one who asks whether the service is alive."""

    callers: int
    load: Load
    living: list[float]

    def __str__(self) -> str:
        """What they were told."""
        answers = self.load.answers
        return f"{statuses(answers)}; slowest {slowest(answers):.1f} s; /healthz {told(self.living, load.ALIVE_WITHIN)}"

    def done(self) -> str:
        """How much was asked."""
        return f"{len(self.load.answers):,} requests of {self.callers} callers"


@contextmanager
def siege(at: Stage, callers: list[Step]) -> Iterator[Siege]:
    """Callers for as long as the block runs; each is answered in time, and the service stays alive."""
    assert at.service is not None
    with paced.reader(at.service.port, "/healthz") as living:
        with living.beside(), Load(callers) as asking:
            yield Siege(len(callers), asking, living.waits)
        bounded(asking.answers)
        told(living.waits, load.ALIVE_WITHIN)


@scenario(
    "PostgreSQL falls mute under load",
    "503 within 5 s for readers and writers, /healthz 200, recovery by itself, nothing acknowledged lost",
    short={"times": 1, "seconds": 6.0},
    long={"times": 3, "seconds": 13.0},
)
def mute(times: int, seconds: float) -> Outcome:
    with stage("postgresql", proxied=True) as at:
        assert at.proxy is not None
        back = []
        with siege(at, many_callers(at)) as held:
            for _ in range(times):
                time.sleep(1)
                at.proxy.set("mute")
                time.sleep(seconds)
                assert ready(at)().status == 503
                at.proxy.set("pass")
                back.append(until_good(reader(at)))
        at.settle()
        return Outcome(f"mute {times} x {seconds:.0f} s, {held.done()}", f"{held}; good again after {max(back):.1f} s")


@scenario(
    "PostgreSQL is frozen, all of it or the backends in use",
    "503 within 5 s, /healthz 200; good again by itself, with frozen backends still there",
    short={"seconds": 5.0},
    long={"seconds": 14.0},
)
def frozen(seconds: float) -> Outcome:
    with stage("postgresql") as at:
        assert at.server is not None
        with siege(at, many_callers(at)) as held:
            time.sleep(1)
            at.server.pause()
            time.sleep(seconds)
            at.server.resume()
            thawed = until_good(reader(at))
            stopped = _freeze_backends(at)
            replaced = held.load.until_good_for(max(seconds, BOUND) + load.LATE)
            _thaw(stopped)
        at.settle(late=True)
        return Outcome(
            f"all for {seconds:.0f} s, then {len(stopped)} backends, {held.done()}",
            f"{held}; good again {thawed:.1f} s after the thaw, {replaced:.1f} s without one",
        )


def _freeze_backends(at: Stage) -> list[psutil.Process]:
    """Freeze the backends in use, while none has begun to write.

    What one of them has locked would stay locked for as long as it is frozen, which is what `row_locked` is about.
    """
    assert at.server is not None
    with servers.connect(at.url) as watching, ThreadPoolExecutor(1) as beside:
        own = watching.info.backend_pid
        for _ in range(500):
            backends = psutil.Process(at.server.pid).children()
            found = [one for one in backends if one.pid != own and "127.0.0.1" in " ".join(one.cmdline())]
            for backend in found:
                backend.suspend()
            writing = "SELECT count(*) FROM pg_stat_activity WHERE pid = ANY(%s) AND backend_xid IS NOT NULL"
            asked = beside.submit(watching.execute, writing, [[one.pid for one in found]])
            # A backend frozen with a lock of the server's own in its hands keeps the question waiting, until it thaws.
            answers = not wait([asked], timeout=2).not_done
            if answers and asked.result().fetchone() == (0,):
                return found
            _thaw(found)
            asked.result()
            time.sleep(0.01)
    raise AssertionError("there was always one that wrote")


def _thaw(stopped: list[psutil.Process]) -> None:
    for backend in stopped:
        with suppress(psutil.NoSuchProcess):
            backend.resume()


@scenario(
    "The way to PostgreSQL becomes slow",
    "answers, or 503 within 5 s; /healthz 200; as before when it is over",
    short={"delays": [0.5]},
    long={"delays": [0.05, 0.3, 0.7, 2.0]},
)
def slow(delays: list[float]) -> Outcome:
    with stage("postgresql", proxied=True) as at:
        assert at.proxy is not None
        seen = []
        for delay in delays:
            at.proxy.set("delay", delay)
            with siege(at, many_callers(at)) as held:
                time.sleep(5)
            seen.append(f"{delay * 1000:.0f} ms each way: {held}")
            at.proxy.set("pass")
            back = until_good(reader(at, at.members[0]))
            assert back < BOUND, f"{back:.1f} s until it was good again"
        at.settle()
        return Outcome(f"{len(delays)} x 5 s, {len(many_callers(at))} callers", ". ".join(seen))
