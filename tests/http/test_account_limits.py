"""Guesses at one account from many addresses: they are slowed down, lock no owner out, and learn nothing."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any

import pytest
from flask import Flask

from directory.api import password_checks
from directory.db import deadline
from directory.http import rate_limits
from directory.http.account_limits import FREE_FAILURES
from directory.server.thread_pool import ThreadPool
from directory.services.accounts import accounts
from tests.support.factories import PASSWORD, Api, World
from tests.support.waiting import until

WITHIN = 30.0
HELD = password_checks.HELD_SECONDS


@pytest.fixture
def app(make_app: Any) -> Flask:
    return make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="10 per 5 minutes", THREADS="8")  # type: ignore[no-any-return]


@pytest.fixture
def delays(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The delays of attempts, which do not take place."""
    asked: list[float] = []
    monkeypatch.setattr(password_checks, "sleep", asked.append)
    monkeypatch.setattr(password_checks, "HELD_SECONDS", 60.0)  # as with a server of ours
    return asked


@pytest.fixture
def guess(app: Flask) -> Callable[..., Any]:
    """Signs in from an address of its own, or from the one that is given."""
    numbers = count(1)

    def one(login: str = "ada", password: str = "not the password", address: str = "") -> Any:
        number = next(numbers)
        at = {"REMOTE_ADDR": address or f"10.1.{number // 250}.{number % 250}"}
        return Api(app).post("/api/auth/login", {"login": login, "password": password}, environ_overrides=at)

    return one


def known(answer: Any) -> Any:
    """An answer without the request's id."""
    headers = {name: value for name, value in answer.headers if name not in {"X-Request-ID", "Date"}}
    return answer.status_code, headers, {**answer.json, "request_id": None}


def test_after_fifty_wrong_passwords_over_all_addresses_an_attempt_waits_ever_longer_up_to_a_second(
    world: World, guess: Any, delays: list[float]
) -> None:
    world.user("ada")
    found = [guess().status_code for _ in range(FREE_FAILURES)]
    assert (set(found), delays) == ({401}, [])
    assert {guess().status_code for _ in range(60)} == {401}
    assert delays == [0.25] * 10 + [0.5] * 10 + [1.0] * 40


def test_a_right_password_is_never_refused_and_its_address_does_not_wait_again(
    world: World, guess: Any, delays: list[float]
) -> None:
    world.user("ada")
    home = "192.0.2.1"
    assert guess("ada", PASSWORD, home).status_code == 200
    for _ in range(120):
        guess()
    del delays[:]
    assert guess("ada", PASSWORD, home).status_code == 200
    assert delays == []
    assert guess("ada", "not the password", home).status_code == 401
    assert delays == [], "the owner may mistype"
    assert [guess("ada", PASSWORD, "192.0.2.2").status_code for _ in range(2)] == [200, 200]
    assert delays == [1.0]


def test_a_success_takes_nothing_from_the_count_and_an_address_is_remembered_for_its_own_login(
    world: World, guess: Any, delays: list[float]
) -> None:
    world.user("ada")
    world.user("mallory")
    for _ in range(FREE_FAILURES):
        guess()
    assert guess("ada", PASSWORD).status_code == 200
    guess("mallory", PASSWORD, "192.0.2.7")
    del delays[:]
    guess("ada", address="192.0.2.7")
    assert delays == [0.25]


@pytest.mark.parametrize("login", ["ada", "ada@example.org", "nobody", "nobody@example.org", "suspended"])
def test_every_login_is_slowed_down_alike_and_no_answer_or_delay_tells_of_an_account(
    world: World, guess: Any, delays: list[float], login: str
) -> None:
    world.user("ada")
    world.user("suspended", status="suspended")
    answers = [known(guess(login)) for _ in range(FREE_FAILURES + 11)]
    assert answers == [answers[0]] * len(answers)
    assert answers[0][0] == 401
    assert delays == [0.25] * 10 + [0.5]


def test_the_spellings_of_an_address_are_one_login(world: World, guess: Any, delays: list[float]) -> None:
    spellings = ("ada@exämple.de", "ADA@Exämple.de", "ada@exa\u0308mple.de", "ada@xn--exmple-cua.de")
    for number in range(FREE_FAILURES):
        guess(spellings[number % len(spellings)])
    assert delays == []
    assert guess(spellings[0]).status_code == 401
    assert delays == [0.25]


def test_the_delay_of_one_name_of_an_account_does_not_tell_its_other_name(
    world: World, guess: Any, delays: list[float]
) -> None:
    world.user("ada")
    world.user("bob")
    for _ in range(100):
        guess("ada")
    del delays[:]
    assert known(guess("ada@example.org")) == known(guess("bob@example.org")) == known(guess("none@example.org"))
    assert delays == []


def test_the_two_names_of_an_account_together_have_a_hundred_failures_without_a_delay(
    world: World, guess: Any, delays: list[float]
) -> None:
    world.user("ada")
    names = ["ada", " ADA", "ada@example.org", "Ada@Example.org "]
    assert {guess(names[n % 4]).status_code for n in range(100)} == {401}
    assert delays == []
    for name in names:
        guess(name)
    assert delays == [0.25] * 4


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/auth/me", {"password": "nine blue paper boats"}),
        ("DELETE", "/api/auth/me", {}),
    ],
)
def test_guesses_at_ones_present_password_count_and_wait_with_those_at_the_login(
    app: Flask, world: World, guess: Any, delays: list[float], method: str, path: str, body: dict[str, str]
) -> None:
    token = world.caller(world.user("ada")).token
    wrong = {**body, "current_password": "not the password"}
    found = set()
    for number in range(FREE_FAILURES):
        at = {"REMOTE_ADDR": f"10.2.0.{number}"}
        found.add(Api(app, token).call(method, path, wrong, environ_overrides=at).status_code)
    assert (found, delays) == ({422}, [])
    guess()
    assert delays == [0.25]
    right = {**body, "current_password": PASSWORD}
    assert Api(app, token).call(method, path, right).status_code in {200, 204}
    assert delays == [0.25] * 2


def test_limits_that_are_off_delay_nothing(make_app: Any, world: World, delays: list[float]) -> None:
    app = make_app(RATELIMIT_ENABLED="false")
    for _ in range(FREE_FAILURES + 1):
        Api(app).post("/api/auth/login", {"login": "ada", "password": "not the password"})
    assert delays == []


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Delays last until the test ends them; `asked` has them."""

    class Slow:
        asked: list[float] = []  # noqa: RUF012
        over = Event()

        def __call__(self, seconds: float) -> None:
            self.asked.append(seconds)
            self.over.wait(WITHIN)

    sleep = Slow()
    monkeypatch.setattr(password_checks, "sleep", sleep)
    yield sleep
    sleep.over.set()


def test_without_our_worker_a_quarter_of_the_threads_is_delayed_at_most_and_each_shortly(
    world: World, guess: Any, slow: Any
) -> None:
    world.user("ada")
    for _ in range(FREE_FAILURES + 20):  # by now a delay would be of a second
        slow.over.set()
        guess()
    slow.over.clear()
    del slow.asked[:]
    with ThreadPoolExecutor(6) as pool:
        delayed = [pool.submit(guess) for _ in range(2)]
        until(lambda: len(slow.asked) == 2)
        assert [guess().status_code for _ in range(3)] == [401] * 3, "those beyond go on at once"
        assert guess("ada", PASSWORD).status_code == 200
        assert not any(each.done() for each in delayed)
        assert slow.asked == [HELD, HELD]
        slow.over.set()
        assert [each.result(WITHIN).status_code for each in delayed] == [401, 401]
        guess()
    assert len(slow.asked) == 3, "the places of those that waited are free again"


def test_in_our_worker_a_delayed_attempt_holds_no_slot_and_their_number_is_bounded(
    world: World, api: Api, guess: Any, slow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_checks, "DELAYED_MAX", 5)
    world.user("ada")
    slow.over.set()
    for _ in range(FREE_FAILURES + 20):
        guess()
    slow.over.clear()
    del slow.asked[:]
    pool, found = ThreadPool(1), []
    for _ in range(5):
        pool.submit(lambda: found.append(guess().status_code))
    until(lambda: len(slow.asked) == 5)
    assert slow.asked == pytest.approx([1.0] * 5)
    pool.submit(lambda: found.append(api.get("/api/projects").status_code))
    pool.submit(lambda: found.append(guess("ada", PASSWORD).status_code))
    until(lambda: len(found) == 2)
    assert found == [200, 200]
    assert len(slow.asked) == 5, "the sixth goes on at once"
    slow.over.set()
    until(lambda: len(found) == 7)
    assert found[2:] == [401] * 5


def test_addresses_that_go_on_guessing_wait_twice_as_long_as_a_new_one(
    world: World, guess: Any, delays: list[float]
) -> None:
    world.user("ada")
    for number in range(FREE_FAILURES):
        guess(address=f"10.3.0.{number % 25}")
    assert [guess(address=f"10.3.0.{number}").status_code for number in range(2)] == [401, 401]
    assert guess("ada", PASSWORD).status_code == 200
    assert delays == [0.5, 0.5, 0.25]


def test_an_attempt_comes_back_from_its_delay_before_all_that_wait_by_then(
    world: World, guess: Any, slow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.user("ada")
    for _ in range(FREE_FAILURES):
        guess()
    judged: list[str] = []
    verify = accounts.verify_password
    monkeypatch.setattr(accounts, "verify_password", lambda *given: judged.append(given[1]) or verify(*given))
    semaphore = password_checks._door
    with ThreadPoolExecutor(6) as pool:
        owner = pool.submit(guess, "ada", PASSWORD)
        until(lambda: len(slow.asked) == 1)
        assert all(semaphore.acquire(0) for _ in range(password_checks.DOOR))
        others = [pool.submit(guess, f"nobody{number}") for number in range(5)]
        until(lambda: len(semaphore._waiting) == 5)
        slow.over.set()
        until(lambda: len(semaphore._first) == 1)
        semaphore.release()  # one place, so that they are judged one after the other
        assert owner.result(WITHIN).status_code == 200
        assert [each.result(WITHIN).status_code for each in others] == [401] * 5
        for _ in range(password_checks.DOOR - 1):
            semaphore.release()
    assert judged[0] == PASSWORD


def test_an_attempt_that_gets_no_place_after_its_delay_is_told_so_and_takes_none_from_others(
    world: World, guess: Any, slow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.user("ada")
    for _ in range(FREE_FAILURES):
        guess()
    semaphore = password_checks._door
    with ThreadPoolExecutor(1) as pool:
        delayed = pool.submit(guess)
        until(lambda: len(slow.asked) == 1)
        assert all(semaphore.acquire(0) for _ in range(password_checks.DOOR))
        monkeypatch.setattr(deadline, "SECONDS", 0.1)
        slow.over.set()
        refused = delayed.result(WITHIN)
    assert (refused.status_code, refused.json["code"]) == (503, "unavailable")
    for _ in range(password_checks.DOOR):
        semaphore.release()
    assert [semaphore.acquire(0) for _ in range(password_checks.DOOR + 1)].count(True) == password_checks.DOOR
    for _ in range(password_checks.DOOR):
        semaphore.release()


def test_a_class_registers_from_one_address_and_a_person_signs_in_again_and_again(app: Flask, world: World) -> None:
    at = {"REMOTE_ADDR": "10.9.0.1"}
    for number in range(12):
        body = {"username": f"pupil{number}", "email": f"pupil{number}@example.org", "password": PASSWORD}
        assert Api(app).post("/api/auth/register", body, environ_overrides=at).status_code == 201
    for _ in range(12):
        answer = Api(app).post("/api/auth/login", {"login": "pupil0", "password": PASSWORD}, environ_overrides=at)
        assert answer.status_code == 200
    assert "r=10;" in answer.headers["RateLimit"]


def test_a_right_password_leaves_the_wrong_ones_counted(app: Flask, world: World, guess: Any) -> None:
    for name in ("ada", "eve"):
        world.user(name)
    one = "10.9.0.2"
    for _ in range(4):
        assert guess(address=one).status_code == 401
        assert guess("eve", PASSWORD, one).status_code == 200
        assert guess("ada", PASSWORD, one).status_code == 200
    assert guess(address=one).status_code == 401
    assert guess(address=one).status_code == 429, "the fifth was the last"
    assert guess("ada", PASSWORD, one).status_code == 429
    for number in range(3):  # those that were refused count too
        assert guess(f"nobody{number}", address=one).status_code == 401
    assert guess("eve", PASSWORD, one).status_code == 429, "the tenth of the address was the last"


def test_of_guesses_at_once_no_more_pass_than_the_limit_however_many_right_passwords_come_between(
    app: Flask, world: World, guess: Any
) -> None:
    for name in ("ada", "eve"):
        world.user(name)
    one = "10.9.0.3"
    with ThreadPoolExecutor(8) as pool:
        wrong = [pool.submit(guess, f"nobody{number % 8}", "not the password", one) for number in range(24)]
        for _ in range(4):
            pool.submit(guess, "eve", PASSWORD, one)
        found = [each.result(WITHIN).status_code for each in wrong]
    assert found.count(401) <= 10
    assert set(found) <= {401, 429}
    assert guess("nobody9", address=one).status_code in {401, 429}


def test_more_successes_than_a_class_has_count_as_guesses_do(
    app: Flask, world: World, guess: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rate_limits.FIXED, "not_guessed", "3 per 5 minutes")
    world.user("ada")
    codes = [guess("ada", PASSWORD, "10.9.0.4").status_code for _ in range(9)]
    assert codes == [200] * 8 + [429]
