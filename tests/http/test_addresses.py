"""Whose address counts, and where the counts are stored."""

import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Thread

import pytest
from limits.storage import MemoryStorage

from directory.extensions import limiter
from directory.http.rate_limit_storage import ProcessMemory, Redis
from tests.support import servers
from tests.support.factories import Api, World

WRONG = {"login": "ada", "password": "not the password"}


@pytest.fixture
def spend(make_app):
    """Makes a function that asks from an address, of an application that lets each address ask once."""

    def make(**settings):
        app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="1 per hour", **settings)

        def ask(address, forwarded=None):
            headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
            place = {"REMOTE_ADDR": address}
            login = {"login": "nobody", "password": "seven green glass doors"}
            return Api(app).post("/api/auth/login", login, headers=headers, environ_overrides=place).status_code

        return ask

    return make


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("192.0.2.1", "192.0.2.1", True),
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:ffff:ffff:ffff", True),
        ("2001:db8:0:1::1", "2001:db8:0:1:2:3:4:5", True),
        ("2001:DB8::1", "2001:db8:0::2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.2", False),
        ("fe80::1%eth0", "fe80::2%eth0", True),
        ("", "", True),
        ("nonsense", "nonsense", True),
    ],
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_an_address_is_one_caller_and_of_ipv6_its_64(spend, first, second, same):
    ask = spend()
    assert (ask(first), ask(second)) == (401, 429 if same else 401)


@pytest.mark.parametrize(
    ("hops", "forwarded", "same"),
    [
        (0, ("6.6.6.6", "7.7.7.7"), True),  # from any sender: no proxy is trusted
        (1, ("6.6.6.6", "7.7.7.7"), False),
        (1, ("6.6.6.6, 192.0.2.9", "7.7.7.7, 192.0.2.9"), True),  # what a client put before the proxy's word
        (1, ("6.6.6.6, 192.0.2.8", "6.6.6.6, 192.0.2.9"), False),
        (2, ("6.6.6.6, 10.0.0.1", "7.7.7.7, 10.0.0.1"), False),
        (2, ("1.1.1.1, 6.6.6.6, 10.0.0.1", "2.2.2.2, 6.6.6.6, 10.0.0.2"), True),
        (2, ("6.6.6.6", "7.7.7.7"), True),  # fewer hops than there are proxies: it did not come through them
        (1, ("2001:db8::1", "2001:db8::2"), True),
        (1, ("", ""), True),
        (1, ("192.0.2.9:1024", "192.0.2.9:1025"), True),  # some proxies add the port, which is another each time
        (1, ("192.0.2.9:1024", "192.0.2.8:1024"), False),
        (1, ("[2001:db8::1]:1024", "[2001:db8::2]"), True),
        (1, ("[2001:db8::1]:1024", "2001:db8:0:1::1"), False),
    ],
)
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_a_forwarded_address_counts_by_the_hops_that_are_trusted_and_no_further(spend, hops, forwarded, same):
    ask = spend(TRUSTED_PROXIES=hops)
    first, second = (ask("10.9.9.9", value) for value in forwarded)
    assert (first, second) == (401, 429 if same else 401)


@pytest.mark.parametrize("header", ["X-Real-IP", "Forwarded", "CF-Connecting-IP", "True-Client-IP", "X-Client-IP"])
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_no_other_header_moves_the_address(make_app, header):
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="1 per hour", TRUSTED_PROXIES=1)
    login = {"login": "nobody", "password": "seven green glass doors"}
    asked = [Api(app).post("/api/auth/login", login, headers={header: f"for=6.6.6.{n}"}) for n in range(2)]
    assert [answer.status_code for answer in asked] == [401, 429]


@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_without_redis_each_application_counts_in_its_own_memory(spend):
    assert [spend()("192.0.2.1") for _ in range(2)] == [401, 401]
    assert type(limiter.storage).__name__ == "ProcessMemory"


def test_the_memory_lets_one_thread_in_at_a_time(monkeypatch):
    # Two at once may both start the library's timer, of which one then fails.
    inside, met = [], []

    def acquire_entry(*_args):
        inside.append(1)
        time.sleep(0.001)
        met.append(len(inside))
        inside.pop()
        return True

    monkeypatch.setattr(MemoryStorage, "acquire_entry", acquire_entry)
    storage = ProcessMemory()
    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(lambda _n: storage.acquire_entry("key", 10, 60), range(32)))
    assert met == [1] * 32


@pytest.fixture
def redis():
    """A Redis of this test's own."""
    with servers.or_skip():
        server = servers.redis()
    with server:
        yield server


@pytest.mark.redis
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_with_redis_all_applications_count_together(spend, redis):
    assert [spend(REDIS_URL=redis.url, WEB_CONCURRENCY=2)("192.0.2.1") for _ in range(2)] == [401, 429]
    assert isinstance(limiter.storage, Redis)


@pytest.mark.redis
@pytest.mark.faults
@pytest.mark.parametrize("fault", ["pause", "stop"])
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_of_many_requests_that_lose_redis_at_once_none_fails_and_the_limit_holds(make_app, redis, fault):
    app = make_app(RATELIMIT_ENABLED="true", RATELIMIT_AUTH="10 per hour", REDIS_URL=redis.url)
    World(app).user("ada")
    assert Api(app).post("/api/auth/login", WRONG, environ_overrides={"REMOTE_ADDR": "::1"}).status_code == 401
    getattr(redis, fault)()
    barrier, answers = Barrier(16), []

    def guess(number):
        barrier.wait()
        answers.append(Api(app).post("/api/auth/login", WRONG | {"login": f"guess{number}"}))

    threads = [Thread(target=guess, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answer.status_code for answer in answers) == [401] * 10 + [429] * 6
    assert all(int(answer.headers["Retry-After"]) > 0 for answer in answers if answer.status_code == 429)


@pytest.mark.redis
@pytest.mark.faults
@pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)
def test_redis_may_be_down_when_the_service_starts_and_go_between_a_count_and_its_headers(spend, redis, monkeypatch):
    redis.stop()
    ask = spend(REDIS_URL=redis.url)
    assert (ask("192.0.2.1"), ask("192.0.2.1")) == (401, 429)
    monkeypatch.setattr(type(limiter.limiter), "get_window_stats", lambda *_args: 1 / 0)
    assert (ask("192.0.2.2"), ask("192.0.2.2")) == (401, 429)
