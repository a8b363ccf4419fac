"""Processes of the server die, are exchanged and are told to end, on PostgreSQL with Redis, under load."""

import http.client
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from tests.support import servers
from tests.support.serving import Serving
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody, voter
from tests.system.chaos.load import Answer, Load, Step, expect, expect_good, slowest, statuses, until_good
from tests.system.chaos.stage import Person, Stage, ended, stage

FAR = {f"RATELIMIT_{tier}": "1000000 per hour" for tier in ("VOTING", "SUBMISSION", "AUTH", "WRITE")}
CLIENTS = 8


@contextmanager
def house(**settings: Any) -> Iterator[Stage]:
    """The service in several processes, with all that it may have."""
    given = {"WEB_CONCURRENCY": 2, "RATELIMIT_ENABLED": "true", **FAR, **settings}
    with servers.redis() as redis, stage("postgresql", REDIS_URL=redis.url, **given) as made:
        yield made


def serving(at: Stage) -> Serving:
    assert at.service is not None
    return at.service


def again(at: Stage, by: Person, project: int, lost: list[Answer]) -> Step:
    """Casts and withdraws a vote in turn; what failed is noted in `lost` and asked once more, by the step's answer."""
    actions = [("cast", "PUT"), ("withdraw", "DELETE")]

    def once(op: str, method: str) -> Answer:
        answer = at.ask(method, f"/api/projects/{project}/upvote", by)
        at.ledger.note(op, answer.status, user=by.id, project=project)
        return answer

    def step() -> Answer:
        actions.reverse()
        answer = once(*actions[0])
        if answer.good:
            return answer
        lost.append(answer)
        return once(*actions[0])

    return step


@scenario(
    "a worker is killed every 0.5 s",
    "only requests in flight on it fail, each succeeds when asked once more, nothing acknowledged lost",
    short={"kills": 2},
    long={"kills": 40},
)
def killed(kills: int) -> Outcome:
    with house() as at:
        lost: list[Answer] = []
        steps = [again(at, person, at.projects[n % 3], lost) for n, person in enumerate(at.members[:CLIENTS])]
        with Load(steps) as load:
            for _ in range(kills):
                time.sleep(0.5)
                serving(at).workers()[0].kill()
            time.sleep(1)
        expect_good(load.answers)
        assert len(lost) <= CLIENTS * kills
        at.settle()
        asked = len(load.answers) + len(lost)
        return Outcome(f"{kills} kills, {asked:,} requests", f"{len(lost)} failed once ({statuses(lost)}), none twice")


@contextmanager
def keep_alive(port: int, token: str) -> Iterator[Step]:
    """Reads over one connection for as long as the server keeps it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=15)

    def step() -> Answer:
        began = time.monotonic()
        try:
            connection.request("GET", "/api/auth/me", headers={"Authorization": f"Bearer {token}"})
            response = connection.getresponse()
            response.read()
            return Answer(began, time.monotonic() - began, response.status, None, "")
        except (OSError, http.client.HTTPException):
            connection.close()
            return Answer(began, time.monotonic() - began, None, None, "")

    yield step
    connection.close()


@scenario(
    "the server is reloaded (HUP) under load",
    "0 failed requests, over new and over keep-alive connections",
    short={"reloads": 1},
    long={"reloads": 6},
)
def reloaded(reloads: int) -> Outcome:
    with house() as at, keep_alive(serving(at).port, at.members[7].token) as persistent:
        with Load([*everybody(at), persistent]) as load:
            for _ in range(reloads):
                time.sleep(1)
                before = serving(at).workers()
                serving(at).process.send_signal(signal.SIGHUP)
                ended(before, 30)
            time.sleep(1)
        expect_good(load.answers)
        at.settle()
        return Outcome(
            f"{reloads} reloads, {len(load.answers):,} requests",
            f"0 failed; {statuses(load.answers)}, slowest {slowest(load.answers) * 1000:.0f} ms",
        )


@scenario(
    "the server is told to end (TERM) while it answers a slow request",
    "the request finishes, new callers are refused or answered, the end within 30 s",
    short={"times": 1},
    long={"times": 10},
)
def told_to_end(times: int) -> Outcome:
    seconds, met = [], set()
    with house() as at, servers.connect(at.url) as holder:
        at.projects[1:] = []
        vote = voter(at, at.members[0])
        for _ in range(times):
            holder.execute("BEGIN")
            holder.execute("SELECT FROM projects WHERE id = %s FOR UPDATE", at.projects)
            with Load([vote], pause=60) as load:
                time.sleep(0.3)
                told = time.monotonic()
                serving(at).process.send_signal(signal.SIGTERM)
                time.sleep(0.3)
                met.add(_knock(serving(at).port))
                holder.execute("ROLLBACK")
                serving(at).process.wait(30)
                seconds.append(time.monotonic() - told)
            expect(load.answers, 200)
            at.start()
        at.settle()
    return Outcome(f"{times} ends", f"under way: 200; new callers: {', '.join(met)}; ended after {max(seconds):.1f} s")


def _knock(port: int) -> str:
    """What comes of a new caller. AssertionError where nothing does."""
    try:
        with socket.create_connection(("127.0.0.1", port), 10) as caller:
            caller.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            return "answered" if caller.recv(12) else "sent away"
    except TimeoutError:
        raise AssertionError("a new caller hangs") from None
    except OSError:
        return "refused"


@scenario(
    "a request takes longer than it may",
    "the statement is ended: 503 within 5 s, the rest is served",
    short={"times": 1},
    long={"times": 5},
)
def overlong(times: int) -> Outcome:
    with house() as at, servers.connect(at.url) as database:
        database.execute(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN PERFORM pg_sleep(60); RETURN NEW; END $$;"
            "CREATE TRIGGER slow BEFORE INSERT ON upvotes FOR EACH ROW EXECUTE FUNCTION slow()"
        )
        vote = f"/api/projects/{at.projects[0]}/upvote"
        found = [at.ask("PUT", vote, at.members[n % 8]) for n in range(times)]
        expect(found, 503)
        assert slowest(found) <= 5, f"{slowest(found):.1f} s"
        assert at.ask("GET", "/api/projects", at.members[0]).status == 200
        database.execute("DROP TRIGGER slow ON upvotes")
        assert at.ask("PUT", vote, at.members[0]).status == 200
        return Outcome(f"{times} statements of 60 s", f"{statuses(found)} after {slowest(found):.1f} s at most")


@scenario(
    "the master is killed (-9), and started again",
    "nothing outlives it for long, the deliverer included; it starts again on its port, nothing acknowledged lost",
    short={"times": 1},
    long={"times": 6},
)
def orphaned(times: int) -> Outcome:
    ends, starts = [], []
    with house(WEBHOOK_WORKER="true") as at:
        try:
            for _ in range(times):
                ends.append(_behead(at))
                starts.append(_start_again(at))
        finally:
            psutil.wait_procs(serving(at).stop(), 30)
        at.settle()
    return Outcome(
        f"{times} kills", f"all gone after {max(ends):.1f} s, good again {max(starts):.1f} s after its start"
    )


def _behead(at: Stage) -> float:
    """Kill the master under load; after how many seconds the last of its processes was gone."""
    service = serving(at)
    service.deliverer()
    with Load(everybody(at)):
        time.sleep(0.5)
        family = service.children()
        service.stop(signal.SIGKILL)
    # No client calls meanwhile: one that is refused very often may get this very port for its own end.
    return ended(family, 30)


def _start_again(at: Stage) -> float:
    """Start the service on the port that it had; after how many seconds it was ready."""
    began, port = time.monotonic(), serving(at).port
    at.service = Serving({**at.settings, "PORT": str(port)}, at.folder / "again.log")
    at.service.wait_until_ready()
    until_good(lambda: at.ask("GET", "/readyz"))
    return time.monotonic() - began
