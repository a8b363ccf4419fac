"""Guesses at one account from many addresses: they take turns, lock no owner out, and learn nothing."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from directory.http import account_limits, password_checks, rate_limit_storage, rate_limits
from directory.http.account_limits import FREE_FAILURES
from directory.server.thread_pool import ThreadPool
from directory.services.accounts import accounts
from tests.support.exchanges import handling
from tests.support.factories import PASSWORD, Api, World
from tests.support.waiting import until

WITHIN = 30.0
WORST = 100  # failures of a login, after which the pause between two turns is the longest


@pytest.fixture
def app(make_app: Any) -> Flask:
    return make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="10 per 5 minutes", THREADS="8")  # type: ignore[no-any-return]


class Clock:
    """The clock of turns. It passes only when a wrong password is answered at its turn, unless it is `stopped`."""

    def __init__(self) -> None:
        self.now, self.is_stopped = 1000.0, False
        self.waits: list[float] = []

    def withhold(self, seconds: float) -> None:
        """Note for how long an answer waits."""
        if seconds:
            self.waits.append(seconds)
        if not self.is_stopped:
            self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    times = SimpleNamespace(time=rate_limit_storage.time.time, monotonic=lambda: clock.now)
    monkeypatch.setattr(rate_limit_storage, "time", times)
    monkeypatch.setattr(password_checks, "_withhold", clock.withhold)
    return clock


@pytest.fixture
def guess(app: Flask) -> Callable[..., Any]:
    """Signs in from an address of its own, or from the one that is given."""
    numbers = count(1)

    def one(login: str = "ada", password: str = "not the password", address: str = "") -> Any:
        number = next(numbers)
        at = {"REMOTE_ADDR": address or f"10.1.{number // 250}.{number % 250}"}
        return Api(app).post("/api/auth/login", {"login": login, "password": password}, environ_overrides=at)

    return one


@pytest.fixture
def attacked(world: World, guess: Any, clock: Clock) -> None:
    """The account of ada, after as many failures as lead to the longest pause. From then on the clock is stopped."""
    world.user("ada")
    for _ in range(WORST):
        assert guess().status_code == 401
    clock.now += 4.0
    clock.is_stopped = True
    del clock.waits[:]


def known(answer: Any) -> Any:
    """An answer without the request's id."""
    headers = {name: value for name, value in answer.headers if name not in {"X-Request-ID", "Date"}}
    return answer.status_code, headers, {**answer.json, "request_id": None}


def test_after_fifty_wrong_passwords_over_all_addresses_turns_are_ever_further_apart_up_to_four_seconds(
    world: World, guess: Any, clock: Clock
) -> None:
    world.user("ada")
    assert {guess().status_code for _ in range(FREE_FAILURES)} == {401}
    assert clock.waits == []
    assert {guess().status_code for _ in range(60)} == {401}, "of guesses one after another none is refused"
    assert clock.waits == [0.25] * 10 + [0.5] * 10 + [1.0] * 10 + [2.0] * 10 + [4.0] * 20


@pytest.mark.usefixtures("attacked")
def test_of_guesses_from_many_addresses_at_once_one_in_four_seconds_is_judged(
    guess: Any, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged: list[str] = []
    verify = accounts.verify_password
    monkeypatch.setattr(accounts, "verify_password", lambda *given: judged.append(given[1]) or verify(*given))
    for turn in range(1, 4):
        answers = [guess() for _ in range(20)]
        assert [answer.status_code for answer in answers] == [401] + [429] * 19
        assert (answers[1].json["code"], answers[1].headers["Retry-After"]) == ("rate_limited", "4")
        assert len(judged) == turn
        clock.now += 4.0


def test_addresses_that_guess_again_wait_for_turns_of_their_own(guess: Any, attacked: None, clock: Clock) -> None:
    spent = [f"10.3.0.{number}" for number in range(20)]
    assert {guess(address=address).status_code for address in spent} == {401, 429}
    clock.now += 4.0
    assert [guess(address=address).status_code for address in spent] == [401] + [429] * 19
    assert guess("ada", PASSWORD).status_code == 200, "an owner elsewhere is not behind them"


@pytest.mark.usefixtures("attacked")
def test_an_address_where_the_owner_has_signed_in_needs_no_turn(guess: Any, clock: Clock) -> None:
    home = "192.0.2.1"
    assert guess("ada", PASSWORD, home).status_code == 200
    for _ in range(20):
        guess()
    assert guess().status_code == 429
    del clock.waits[:]
    assert [guess(address=home).status_code for _ in range(3)] == [401] * 3, "the owner may mistype"
    assert guess("ada", PASSWORD, home).status_code == 200
    assert clock.waits == []


@pytest.mark.usefixtures("attacked")
def test_a_right_password_is_answered_at_once(guess: Any, clock: Clock) -> None:
    assert guess("ada", PASSWORD).status_code == 200
    assert clock.waits == []


def test_a_success_takes_nothing_from_the_count_and_an_address_is_remembered_for_its_own_login(
    world: World, guess: Any, clock: Clock
) -> None:
    world.user("ada")
    world.user("mallory")
    for _ in range(FREE_FAILURES):
        guess()
    assert guess("ada", PASSWORD).status_code == 200
    guess("mallory", PASSWORD, "192.0.2.7")
    guess("ada", address="192.0.2.7")
    assert clock.waits == [0.5], "behind the turn of the right one"


@pytest.mark.parametrize("login", ["ada", "ada@example.org", "nobody", "nobody@example.org", "suspended"])
def test_every_login_is_slowed_down_alike_and_no_answer_or_delay_tells_of_an_account(
    world: World, guess: Any, clock: Clock, login: str
) -> None:
    world.user("ada")
    world.user("suspended", status="suspended")
    answers = [known(guess(login)) for _ in range(FREE_FAILURES + 11)]
    assert answers == [answers[0]] * len(answers)
    assert answers[0][0] == 401
    assert clock.waits == [0.25] * 10 + [0.5]
    clock.is_stopped = True
    assert [guess(login).status_code for _ in range(12)] == [401] * 8 + [429] * 4


def test_the_spellings_of_an_address_are_one_login(world: World, guess: Any, clock: Clock) -> None:
    spellings = ("ada@exämple.de", "ADA@Exämple.de", "ada@exa\u0308mple.de", "ada@xn--exmple-cua.de")
    for number in range(FREE_FAILURES):
        guess(spellings[number % len(spellings)])
    assert clock.waits == []
    assert guess(spellings[0]).status_code == 401
    assert clock.waits == [0.25]


@pytest.mark.usefixtures("attacked")
def test_the_turns_of_one_name_of_an_account_do_not_tell_its_other_name(world: World, guess: Any, clock: Clock) -> None:
    world.user("bob")
    assert known(guess("ada@example.org")) == known(guess("bob@example.org")) == known(guess("none@example.org"))
    assert clock.waits == []


def test_the_two_names_of_an_account_together_have_a_hundred_failures_without_a_turn(
    world: World, guess: Any, clock: Clock
) -> None:
    world.user("ada")
    names = ["ada", " ADA", "ada@example.org", "Ada@Example.org "]
    assert {guess(names[n % 4]).status_code for n in range(100)} == {401}
    assert clock.waits == []
    for name in names:
        guess(name)
    assert clock.waits == [0.25] * 4


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/api/auth/me", {"password": "nine blue paper boats"}),
        ("DELETE", "/api/auth/me", {}),
    ],
)
def test_guesses_at_ones_present_password_count_with_those_at_the_login_and_have_turns_of_their_own(
    app: Flask, world: World, guess: Any, clock: Clock, method: str, path: str, body: dict[str, str]
) -> None:
    token = world.caller(world.user("ada")).token
    wrong, right = ({**body, "current_password": given} for given in ("not the password", PASSWORD))

    def own(number: int, given: dict[str, str]) -> int:
        at = {"REMOTE_ADDR": f"10.2.0.{number}"}
        return int(Api(app, token).call(method, path, given, environ_overrides=at).status_code)

    assert {own(number, wrong) for number in range(FREE_FAILURES)} == {422}
    assert clock.waits == []
    guess()
    assert own(60, wrong) == 422
    assert clock.waits == [0.25] * 2
    clock.is_stopped = True
    assert {guess().status_code for _ in range(40)} == {401, 429}
    assert own(61, right) in {200, 204}, "strangers do not keep the owner from a new password"


def test_limits_that_are_off_give_no_turns(make_app: Any, world: World, clock: Clock) -> None:
    app = make_app(RATELIMIT_ENABLED="false")
    for _ in range(FREE_FAILURES + 1):
        Api(app).post("/api/auth/login", {"login": "ada", "password": "not the password"})
    assert clock.waits == []


@pytest.fixture
def slow(world: World, guess: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Waits last until the test ends them; `asked` has them. Guesses at ada wait by now."""

    class Slow:
        asked: list[float] = []  # noqa: RUF012
        over = Event()

        def __call__(self, seconds: float) -> None:
            self.asked.append(seconds)
            self.over.wait(WITHIN)

    world.user("ada")
    for _ in range(FREE_FAILURES):
        guess()
    sleep = Slow()
    monkeypatch.setattr(password_checks, "sleep", sleep)
    yield sleep
    sleep.over.set()


def test_without_our_worker_no_thread_waits_and_turns_limit_the_guesses_all_the_same(guess: Any, slow: Any) -> None:
    codes = [guess().status_code for _ in range(40)]
    assert 429 in codes
    assert slow.asked == []


def test_in_our_worker_an_answer_that_waits_holds_no_slot_and_their_number_is_bounded(
    api: Api, guess: Any, slow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(password_checks, "_withheld", password_checks.BoundedSemaphore(5))
    pool, found = ThreadPool(1), []
    for _ in range(5):
        pool.submit(lambda: found.append(guess().status_code))
    until(lambda: len(slow.asked) == 5)
    pool.submit(lambda: found.append(api.get("/api/projects").status_code))
    pool.submit(lambda: found.append(guess("ada", PASSWORD).status_code))
    pool.submit(lambda: found.append(guess().status_code))
    until(lambda: len(found) == 3)
    assert sorted(found) == [200, 200, 401]  # in any order: a thread that hashes a password gives its slot away
    assert len(slow.asked) == 5, "the sixth is answered at once"
    slow.over.set()
    until(lambda: len(found) == 8)
    assert found[3:] == [401] * 5
    pool.submit(lambda: found.append(guess().status_code))
    until(lambda: len(slow.asked) == 6)


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


def test_a_link_that_the_limit_of_its_address_refuses_does_not_count_for_its_account(app: Flask) -> None:
    tried = [("ada@example.org", number) for number in (1, 2, 3, 4)] + [("new@example.org", 4)] * 3
    may_mail = []
    with handling(app):
        for address, account_id in tried:
            with account_limits.mailing(address, account_id) as allowed:
                may_mail.append(allowed)
    assert may_mail == [True, True, True, False, True, True, True]
