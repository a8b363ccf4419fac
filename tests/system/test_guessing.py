"""Many addresses guess at one account of a real server at once, while its owner and others sign in and read."""

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from directory.http.account_limits import FIRST_PAUSE, FREE_FAILURES, LONGEST_PAUSE
from directory.http.password_checks import DOOR
from tests.conftest import ENVIRONMENT, Database
from tests.support import servers
from tests.support.burst import Ask, ask, burst, tally
from tests.support.factories import PASSWORD
from tests.support.processes import Server
from tests.support.serving import Serving, serving
from tests.support.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.redis]
ADDRESSES = 60
NUMBERS = count(1)


@pytest.fixture
def storage() -> Iterator[Server]:
    """A Redis of the test's own, to be stopped."""
    with servers.or_skip():
        server = servers.redis()
    with server:
        assert isinstance(server, Server)
        yield server


@pytest.fixture
def start(database: Database, tmp_path: Path) -> Iterator[Callable[..., Serving]]:
    """Starts the service as it is shipped, behind a proxy that tells addresses."""
    ours = {"RATELIMIT_ENABLED": "true", "TRUSTED_PROXIES": "1", "DATABASE_URL": database.url, "WEB_CONCURRENCY": "1"}
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(serving({**ENVIRONMENT, **ours, **given}, tmp_path / "log"))


def at(address: str) -> dict[str, str]:
    return {"X-Forwarded-For": address}


def sign_in(login: str, password: str, address: str) -> Ask:
    return Ask("POST", "/api/auth/login", {"login": login, "password": password}, at(address))


def guesses(login: str = "ada") -> list[Ask]:
    """A guess from each of the addresses."""
    return [sign_in(login, "not the password", f"203.0.113.{number}") for number in range(ADDRESSES)]


def register(port: int, *names: str) -> None:
    """Make accounts by the server itself, so that their passwords cost what they cost; each signs in from home."""
    for name in names:
        body = {"username": name, "email": f"{name}@example.org", "password": PASSWORD}
        assert ask(port, "POST", "/api/auth/register", json=body, headers=at("198.51.100.1")).status == 201
        assert burst(port, [sign_in(name, PASSWORD, "198.51.100.1")])[0].status == 200


def attack(port: int) -> dict[str, int]:
    """Send sixty guesses at once, each from an address that has guessed before, and behind them what others send.

    Returns the statuses of the others. Of the guesses some are judged, and the others have no turn.
    """
    behind = {
        "the owner at home": sign_in("ada", PASSWORD, "198.51.100.1"),
        "the owner elsewhere": sign_in("ada", PASSWORD, "198.51.100.2"),
        "another member": sign_in("bob", PASSWORD, "198.51.100.3"),
        "a reader": Ask("GET", "/api/projects"),
        "a probe": Ask("GET", "/healthz"),
    }
    answers = burst(port, [*guesses(), *behind.values()])
    for name, answer in zip(behind, answers[ADDRESSES:], strict=True):
        print(f"{name}: {answer.status} after {answer.seconds:.2f} s")
    guessed = tally(answers[:ADDRESSES])
    assert guessed.keys() <= {401, 429, 503}  # 503 where a machine is so busy that some do not enter in time
    assert guessed[429] > guessed[401]
    return {name: answer.status for name, answer in zip(behind, answers[ADDRESSES:], strict=True)}


def guess_wrong(port: int, attempts: list[Ask]) -> None:
    """Have each attempt counted as wrong. A few at a time: of many at once a busy machine answers some with 503."""
    for start in range(0, len(attempts), 10):
        few = attempts[start : start + 10]
        assert tally(burst(port, few)) == {401: len(few)}


def ask_to_sign_in(port: int, address: str) -> int:
    """The status of the owner's sign-in from an address."""
    return burst(port, [sign_in("ada", PASSWORD, address)])[0].status


def prepare(port: int) -> None:
    """Make the accounts, and have so many wrong passwords tried at one that further ones take turns."""
    register(port, "ada", "bob")
    guess_wrong(port, guesses())


def settings_of(request: pytest.FixtureRequest, where: str) -> dict[str, str]:
    """The settings of one process that counts in its memory, or of two that count in Redis."""
    if where == "memory":
        return {}
    return {"REDIS_URL": request.getfixturevalue("storage").url, "WEB_CONCURRENCY": "2"}


STORES = pytest.mark.parametrize(
    ("migrated", "where"), [("sqlite", "memory"), ("postgresql", "redis")], indirect=["migrated"]
)


@pytest.mark.parametrize("worker", ["loop", "gthread"])
@STORES
def test_the_owner_signs_in_from_home_and_from_elsewhere_while_others_guess_again(
    request: pytest.FixtureRequest, start: Any, worker: str, where: str
) -> None:
    port = start(SERVER_WORKER=worker, **settings_of(request, where)).port
    prepare(port)
    found = attack(port)
    assert found == dict.fromkeys(found, 200)


@pytest.mark.parametrize("worker", ["loop", "gthread"])
@STORES
def test_of_guesses_from_a_thousand_addresses_at_once_few_are_judged(
    request: pytest.FixtureRequest, start: Any, worker: str, where: str
) -> None:
    port = start(SERVER_WORKER=worker, **settings_of(request, where)).port
    register(port, "ada")
    began = time.monotonic()
    guessed = []
    for net in range(4):  # as many at once as a process accepts connections
        addresses = (f"10.4.{net}.{number}" for number in range(250))
        guessed += burst(port, [sign_in("ada", "not the password", address) for address in addresses])
    seconds = time.monotonic() - began
    judged = tally(guessed)[401]
    print(f"{worker}, {where}: {judged} of a thousand guesses judged in {seconds:.1f} s, {tally(guessed)}")
    assert tally(guessed).keys() <= {401, 429, 503}
    assert judged <= FREE_FAILURES + 2 * DOOR + (seconds + LONGEST_PAUSE) / FIRST_PAUSE
    assert ask_to_sign_in(port, "198.51.100.1") == 200, "at home"
    until(lambda: ask_to_sign_in(port, f"198.51.101.{next(NUMBERS)}") == 200)


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_while_redis_is_gone_each_process_counts_guesses_by_itself(start: Any, storage: Server) -> None:
    port = start(REDIS_URL=storage.url).port
    register(port, "ada")
    storage.stop(signal.SIGKILL)
    guess_wrong(port, guesses()[:FREE_FAILURES])
    guessed = burst(port, [*guesses(), sign_in("zoe", PASSWORD, "198.51.100.9")])
    assert tally(guessed[:-1])[429] > 0
    assert guessed[-1].status == 401, "a guess at another account needs no turn"
    assert ask_to_sign_in(port, "198.51.100.9") == 200


@STORES
def test_the_owner_signs_in_while_strangers_sign_in_at_random_names_without_end(
    request: pytest.FixtureRequest, start: Any, where: str
) -> None:
    """After 51 wrong guesses; sixteen connections, each attempt at a name and from an address of its own."""
    port = start(SERVER_WORKER="loop", **settings_of(request, where)).port
    register(port, "ada")
    guess_wrong(port, guesses()[:51])
    over, numbers, strangers = Event(), count(1), []

    def flood() -> None:
        while not over.is_set():
            number = next(numbers)
            stranger = sign_in(
                f"nobody{number}", "not the password", f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
            )
            strangers.append(burst(port, [stranger])[0].status)

    with ThreadPoolExecutor(16) as pool:
        for _ in range(16):
            pool.submit(flood)
        try:
            until(lambda: len(strangers) > 32)
            for number in range(3):
                before = len(strangers)
                [answer] = burst(port, [sign_in("ada", PASSWORD, f"198.51.100.{number + 10}")])
                others = len(strangers) - before
                print(f"{where}: the owner: {answer.status} after {answer.seconds:.2f} s, behind {others} others")
                assert answer.status == 200
        finally:
            over.set()
    assert set(strangers) <= {401, 503}
