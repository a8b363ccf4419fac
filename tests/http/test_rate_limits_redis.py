"""Rate limits in Redis, over several real processes: exact while it answers, and going on whatever becomes of it."""

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
import redis
from limits import parse as parse_limit
from limits.strategies import MovingWindowRateLimiter
from prometheus_client.parser import text_string_to_metric_families as parse

from directory.http.rate_limit_storage import ProcessMemory, Redis
from tests.conftest import ENVIRONMENT, Database
from tests.http.test_rate_limits import WINDOW, passed_of_twenty, shorter_than_the_window
from tests.support import servers
from tests.support.burst import Answer, Ask, ask, bearer, burst, tally
from tests.support.factories import PASSWORD, World
from tests.support.processes import Server, free_port
from tests.support.serving import Serving, serving

pytestmark = [
    pytest.mark.redis,
    pytest.mark.faults,
    pytest.mark.slow,
    pytest.mark.parametrize("migrated", ["postgresql"], indirect=True),
]
LOST = "Rate limit storage unreachable - falling back to in-memory storage"
BACK = "Rate limit storage recovered"


@pytest.fixture
def storage() -> Iterator[Server]:
    """A Redis of the test's own, to be stopped and frozen."""
    with servers.or_skip():
        server = servers.redis()
    with server:
        assert isinstance(server, Server)
        yield server


@pytest.fixture
def start(database: Database, storage: Server, tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    """Starts the service as it is shipped, with limits far away but for those given."""
    far = {f"RATELIMIT_{tier}": "100000 per hour" for tier in ("VOTING", "SUBMISSION", "AUTH", "WRITE")}
    ours = {"RATELIMIT_ENABLED": "true", "METRICS_ENABLED": "true", "LOG_LEVEL": "INFO"}
    where = {"DATABASE_URL": database.url, "REDIS_URL": storage.url, "WEB_CONCURRENCY": "1", "THREADS": "4"}
    with contextlib.ExitStack() as stack:
        yield lambda **settings: stack.enter_context(
            serving({**ENVIRONMENT, **far, **ours, **where, **settings}, tmp_path / "log")
        )


class Voter:
    """A user who votes for one project."""

    def __init__(self, world: World, project_id: int, port: int) -> None:
        token = world.caller(world.user()).token
        assert token is not None
        self.vote = Ask("PUT", f"/api/projects/{project_id}/upvote", headers=bearer(token))
        self.port = port

    def __call__(self, times: int = 1) -> list[Answer]:
        """Votes, one after the other."""
        return [burst(self.port, [self.vote])[0] for _ in range(times)]


def logged(server: Serving) -> list[str]:
    """What the log says of the storage."""
    lines = map(json.loads, server.log.read_text().splitlines())
    return [line["message"] for line in lines if line["message"].startswith("Rate limit storage")]


def checked(server: Serving) -> Any:
    """What /readyz, which stays 200, says of Redis."""
    answer = ask(server.port, "GET", "/readyz")
    assert answer.status == 200
    return answer.json["checks"]["redis"]


def measured(server: Serving) -> float:
    """The metric of the processes that count by themselves."""
    families = parse(ask(server.port, "GET", "/metrics").body.decode())
    [sample] = [s for f in families for s in f.samples if s.name == "directory_ratelimit_fallback"]
    return float(sample.value)


def test_of_300_votes_at_once_at_four_processes_exactly_ten_of_each_user_pass(start: Any, world: World) -> None:
    server, project_id = start(WEB_CONCURRENCY="4", RATELIMIT_VOTING="10 per hour"), world.project()
    voters = [Voter(world, project_id, server.port) for _ in range(2)]
    found = burst(server.port, [voters[n % 2].vote for n in range(300)])
    assert [tally(found[n::2]) for n in (0, 1)] == [{200: 10, 429: 140}] * 2
    assert world.stored(project_id)["upvotes"] == 2


def test_of_200_votes_at_once_at_two_processes_exactly_thirty_pass_and_without_redis_thirty_at_each(
    start: Any, world: World, storage: Server
) -> None:
    ports = [start(RATELIMIT_VOTING="30 per hour").port for _ in range(2)]  # a process each, so that its share is known
    project_id = world.project()
    voters = [Voter(world, project_id, ports[0]).vote for _ in range(3)]
    first, second, third = (Ask("POST", vote.path, headers=vote.headers) for vote in voters)

    def both(*toggles: Ask) -> list[list[Answer]]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda port: burst(port, toggles), ports))

    found = [*chain(*both(*[first, second] * 100))]
    assert [tally(found[n::2]) for n in (0, 1)] == [{200: 30, 429: 170}] * 2
    assert world.stored(project_id)["upvotes"] == 0  # an even number of toggles by each
    refuse(storage)
    assert [tally(each) for each in both(*[third] * 100)] == [{200: 30, 429: 70}] * 2
    assert world.stored(project_id)["upvotes"] == 0


def test_of_300_registrations_at_once_at_four_processes_exactly_ten_of_each_address_pass(
    start: Any, world: World
) -> None:
    server = start(WEB_CONCURRENCY="4", RATELIMIT_AUTH="10 per hour", TRUSTED_PROXIES="1")
    addresses = ["203.0.113.7", "2001:db8:1:2::a", "2001:db8:1:2::b"]
    # Finished registrations give their hits back; those of a taken name do not.
    world.user("taken")
    new = {"username": "taken", "email": "new@example.org", "password": PASSWORD}
    forwarded = [{"X-Forwarded-For": addresses[n % 3]} for n in range(300)]
    # Bodies that are refused with 422 spend nothing, also among many callers at once.
    refused = burst(server.port, [Ask("POST", "/api/auth/register", {}, headers) for headers in forwarded])
    assert tally(refused) == {422: 300}
    found = burst(server.port, [Ask("POST", "/api/auth/register", new, headers) for headers in forwarded])
    assert tally(found[0::3]) == {409: 10, 429: 90}
    assert tally(found[1::3] + found[2::3]) == {409: 10, 429: 190}


def test_registrations_of_a_class_one_after_another_pass_whichever_process_answers(start: Any) -> None:
    server = start(WEB_CONCURRENCY="4", RATELIMIT_AUTH="10 per hour")
    new = [{"username": f"new{n}", "email": f"new{n}@example.org", "password": PASSWORD} for n in range(30)]
    found = [burst(server.port, [Ask("POST", "/api/auth/register", body)])[0] for body in new]
    assert tally(found) == {201: 30}


def test_of_60_guesses_at_once_exactly_five_are_judged_and_the_victim_goes_on(start: Any, world: World) -> None:
    server, victim = start(WEB_CONCURRENCY="4", RATELIMIT_AUTH="10 per 5 minutes"), world.user("ada")
    token = world.caller(victim).token
    assert token is not None
    names = ["ada", "ADA", " ada"]
    guesses = [Ask("POST", "/api/auth/login", {"login": names[n % 3], "password": "wrong one"}) for n in range(60)]
    own = [Ask("GET", "/api/auth/me", headers=bearer(token)), Ask("PUT", "/api/auth/me", {}, bearer(token))]
    found = burst(server.port, [*guesses[:30], *own, *guesses[30:], *own])
    assert tally(found[:30] + found[32:62]) == {401: 5, 429: 55}
    assert tally(found[30:32] + found[62:]) == {200: 4}
    right = Ask("POST", "/api/auth/login", {"login": "ada", "password": PASSWORD})
    assert tally(burst(server.port, [right])) == {429: 1}


def test_no_window_holds_more_than_the_limit_wherever_it_begins(start: Any, world: World) -> None:
    server = start(WEB_CONCURRENCY="4", RATELIMIT_VOTING=f"10 per {WINDOW:.0f} seconds")
    voter = Voter(world, world.project(), server.port)
    passed = passed_of_twenty(lambda: voter()[0].status)
    assert shorter_than_the_window(passed) == []
    assert len(passed) > 10  # the first has left the window


def refuse(storage: Server) -> None:
    storage.stop(signal.SIGKILL)


def fill(storage: Server) -> None:
    """Its memory is full: writes are refused, and a ping is answered."""
    with redis.Redis.from_url(storage.url) as client:
        client.config_set("maxmemory-policy", "noeviction")
        client.config_set("maxmemory", 1)


def empty(storage: Server) -> None:
    with redis.Redis.from_url(storage.url) as client:
        client.config_set("maxmemory", 0)


def demote(storage: Server) -> None:
    """A replica, of a server that is not there: writes are refused, and a ping is answered."""
    with redis.Redis.from_url(storage.url) as client:
        client.execute_command("REPLICAOF", "127.0.0.1", str(free_port()))


def promote(storage: Server) -> None:
    with redis.Redis.from_url(storage.url) as client:
        client.execute_command("REPLICAOF", "NO", "ONE")


FAULTS = [
    pytest.param(refuse, Server.start, id="refuses"),
    pytest.param(Server.pause, Server.resume, id="is mute"),
    pytest.param(fill, empty, id="is full"),
    pytest.param(demote, promote, id="is a replica"),
]


@pytest.mark.parametrize(("breaks", "mends"), FAULTS)
def test_limits_go_on_and_votes_pass_while_redis(
    start: Any, world: World, storage: Server, breaks: Callable[..., Any], mends: Callable[..., Any]
) -> None:
    server, project_id = start(RATELIMIT_VOTING="10 per hour"), world.project()
    voters = iter(partial(Voter, world, project_id, server.port), None)
    assert tally(next(voters)(3)) == {200: 3}
    assert (checked(server), measured(server), logged(server)) == ({"ok": True, "fallback": False}, 0, [])

    breaks(storage)
    found = next(voters)(14)
    assert [answer.status for answer in found] == [200] * 10 + [429] * 4
    assert max(answer.seconds for answer in found) < 20  # a mute one would answer never
    time.sleep(2)  # by now the service has reason to look again
    assert tally(next(voters)(12)) == {200: 10, 429: 2}
    assert (checked(server), measured(server), logged(server)) == ({"ok": False, "fallback": True}, 1, [LOST])

    mends(storage)
    back = time.monotonic()
    while measured(server):
        assert tally(next(voters)()) == {200: 1}
        assert time.monotonic() - back < 35
        time.sleep(0.2)
    assert tally(next(voters)(12)) == {200: 10, 429: 2}
    assert (checked(server), logged(server)) == ({"ok": True, "fallback": False}, [LOST, BACK])


def test_a_login_may_be_the_first_to_find_redis_mute(start: Any, storage: Server) -> None:
    server = start(RATELIMIT_AUTH="3 per hour")
    storage.pause()
    wrong = Ask("POST", "/api/auth/login", {"login": "ada", "password": "wrong one"})
    found = [burst(server.port, [wrong])[0] for _ in range(4)]
    assert [answer.status for answer in found] == [401, 429, 429, 429]  # one guess at an account, three of an address
    assert logged(server) == [LOST]


def test_while_redis_is_gone_several_processes_allow_no_more_than_each_its_share(
    start: Any, world: World, storage: Server
) -> None:
    server = start(WEB_CONCURRENCY="4", RATELIMIT_VOTING="10 per hour")
    voter = Voter(world, world.project(), server.port)
    storage.stop(signal.SIGKILL)
    found = tally(burst(server.port, [voter.vote] * 120))
    assert found.keys() <= {200, 429}
    assert 10 <= found[200] <= 40


def test_the_service_starts_without_its_redis_and_takes_it_up_when_it_comes(
    start: Any, world: World, storage: Server
) -> None:
    storage.stop()
    server, project_id = start(RATELIMIT_VOTING="10 per hour"), world.project()
    assert tally(Voter(world, project_id, server.port)(12)) == {200: 10, 429: 2}
    assert (checked(server), measured(server), logged(server)) == ({"ok": False, "fallback": True}, 1, [LOST])
    storage.start()
    back = time.monotonic()
    while measured(server):
        Voter(world, project_id, server.port)()
        assert time.monotonic() - back < 35
        time.sleep(0.2)
    assert logged(server) == [LOST, BACK]


def test_a_hit_that_is_taken_back_leaves_room_for_one_more_and_no_others(storage: Server, database: Database) -> None:
    counts, item = Redis(storage.url), parse_limit("3 per hour")
    limits = MovingWindowRateLimiter(counts)
    assert [limits.hit(item, "one") for _ in range(4)] == [True, True, True, False]
    limits.hit(item, "other")
    counts.take_back(item.key_for("one"))
    assert [limits.hit(item, "one") for _ in range(2)] == [True, False]
    assert limits.get_window_stats(item, "other").remaining == 2


@pytest.mark.parametrize("where", ["memory", "redis"])
def test_turns_are_a_pause_apart_and_none_is_reserved_that_is_too_far_away(
    storage: Server, database: Database, where: str
) -> None:
    turns = ProcessMemory() if where == "memory" else Redis(storage.url)
    waits = [turns.reserve("one", pause, 3000.0) for pause in (1000.0, 1500.0, 1000.0, 250.0, 250.0, 500.0)]
    assert waits == pytest.approx([1000, 2500, 3500, 2750, 3000, 3500], abs=100)
    assert turns.reserve("another", 0.25, 1.0) == pytest.approx(0.25)
