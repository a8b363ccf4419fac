"""A whole run of real processes, faults included: log, probes and metrics are searched for every secret there was."""

import json
import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import redis
from sqlalchemy.engine import make_url

from directory.extensions import db
from tests.conftest import ENVIRONMENT, build, migrate
from tests.support import servers
from tests.support.burst import ask, bearer
from tests.support.factories import PASSWORD, World
from tests.support.processes import Server, free_port
from tests.support.receiver import SECRET
from tests.support.serving import WITHIN, Serving, serving

pytestmark = [pytest.mark.redis, pytest.mark.postgresql, pytest.mark.faults]
PLANTED = {
    "the password of the database": "planted-database",
    "the password of Redis": "planted-redis",
    "the secret of a webhook": SECRET.removeprefix("whsec_"),
    "the address of a webhook": "planted-chat-token-0123456789",
    "the key": "planted-key-" + "k" * 32,
    "a new password": "planted new password",
    "a wrong password": "planted wrong password",
    "a login that is a password": "planted-login",
    "a bad token": "pds_planted-token",
    "a bad cookie": "planted-cookie",
}


@pytest.fixture
def stores() -> Iterator[tuple[Server, Server]]:
    """A PostgreSQL and a Redis of the test's own, both with passwords in their URLs."""
    with servers.or_skip():
        database, storage = servers.postgresql(), servers.redis()
    with database, storage:
        assert isinstance(database, Server)
        assert isinstance(storage, Server)
        with redis.Redis.from_url(storage.url) as client:
            client.config_set("requirepass", PLANTED["the password of Redis"])
        migrate(database.url)
        yield database, storage


@pytest.fixture
def server(stores: tuple[Server, Server], tmp_path: Path) -> Iterator[Serving]:
    database, storage = stores
    url = make_url(database.url).set(password=PLANTED["the password of the database"])
    chat = f"http://127.0.0.1:{free_port()}/services/{PLANTED['the address of a webhook']}"
    settings = {
        "LOG_LEVEL": "DEBUG", "RATELIMIT_ENABLED": "true", "WEB_CONCURRENCY": "2", "METRICS_ENABLED": "true",
        "SECRET_KEY": PLANTED["the key"], "DATABASE_URL": url.render_as_string(hide_password=False),
        "REDIS_URL": storage.url.replace("redis://", f"redis://:{PLANTED['the password of Redis']}@"),
        "WEBHOOK_URL": chat, "WEBHOOK_SECRET": SECRET,
    }  # fmt: skip
    with serving({**ENVIRONMENT, **settings}, tmp_path / "log") as server:
        yield server


def act(server: Serving, world: World) -> list[str]:
    """Sign in and fail to, in every way, approve a project, and vote; the secrets that were given out."""
    port, user, admin = server.port, world.user("ada"), world.caller(world.admin()).token or ""
    login = {"login": "ada", "password": PASSWORD}
    ask(port, "POST", "/api/auth/login", json=login | {"password": PLANTED["a wrong password"]})
    for _ in range(7):
        typed = PLANTED["a login that is a password"]
        ask(port, "POST", "/api/auth/login", json={"login": typed, "password": typed})
    forged = {"Cookie": f"__Host-directory={PLANTED['a bad cookie']}", "User-Agent": "x\tforged"}
    ask(port, "GET", "/api/auth/me", headers=forged)
    ask(port, "GET", "/api/%0d%0a%7B%22level%22:1%7D", headers=bearer(PLANTED["a bad token"]))
    token = world.caller(user).token or ""
    issued = ask(port, "POST", "/api/auth/tokens", json={"name": "x"}, headers=bearer(token)).json["token"]
    key = ask(port, "POST", "/api/auth/feed-key", headers=bearer(token)).json["key"]
    for given in (key, PLANTED["a bad token"]):
        ask(port, "GET", f"/api/projects.atom?key={given}", headers={"Referer": f"http://a/?key={given}"})
    change = {"password": PLANTED["a new password"], "current_password": PLANTED["a wrong password"]}
    ask(port, "PUT", "/api/auth/me", json=change, headers=bearer(token))
    ask(port, "PUT", "/api/auth/me", json=change | {"current_password": PASSWORD}, headers=bearer(token))
    project = world.project(status="pending")
    assert ask(port, "PUT", f"/api/admin/projects/{project}/approve", headers=bearer(admin)).status == 200
    assert ask(port, "PUT", f"/api/projects/{project}/upvote", headers=bearer(issued)).status == 200
    return [token, admin, issued, key]


def until_told(server: Serving, message: str) -> None:
    """Wait until the log has the message. AssertionError where it never has."""
    give_up = time.monotonic() + WITHIN
    while message not in server.log.read_text():
        assert time.monotonic() < give_up, message
        time.sleep(0.05)


def probed(server: Serving) -> list[str]:
    """What the probes and the metrics say now."""
    return [ask(server.port, "GET", path).body.decode() for path in ("/healthz", "/readyz", "/metrics")]


def fault(server: Serving, database: Server, storage: Server, token: str) -> None:
    """Take Redis and the database away, and ask for what needs them."""
    storage.stop(signal.SIGKILL)
    for _ in range(4):
        ask(server.port, "PUT", "/api/projects/1/upvote", headers=bearer(token))
    with psycopg.connect(make_url(database.url).set(drivername="postgresql").render_as_string()) as connection:
        connection.execute("ALTER TABLE upvotes RENAME TO elsewhere")
    assert ask(server.port, "DELETE", "/api/projects/1/upvote", headers=bearer(token)).status == 500
    database.stop(signal.SIGQUIT)
    for path in ("/api/projects", "/readyz", "/metrics", "/api/auth/me"):
        assert ask(server.port, "GET", path, headers=bearer(token)).status in {200, 503}


@pytest.mark.extra("feed_keys")
def test_no_log_answer_or_table_of_a_whole_run_holds_a_secret_and_each_log_line_is_one_object(
    stores: tuple[Server, Server], server: Serving
) -> None:
    database, storage = stores
    app = build(database.url)
    given = act(server, World(app))
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    until_told(server, "webhook failed, to be tried again")
    well = probed(server)
    fault(server, database, storage, given[2])
    ill = probed(server)
    server.stop()

    text = server.log.read_text()
    lines: list[Any] = [json.loads(line) for line in text.splitlines()]
    assert [line for line in lines if not {"time", "level", "logger", "message"} <= line.keys()] == []
    assert re.search(r"[^\x20-\x7e\n]", text) is None
    told = {line["message"] for line in lines}
    assert {"request", "refused", "unhandled exception", "database unavailable"} <= told
    assert "Rate limit storage unreachable - falling back to in-memory storage" in told
    assert all(
        '"webhooks"' in readiness and "directory_requests_total{" in scrape for _, readiness, scrape in (well, ill)
    )
    everything = "\n".join([text, *well, *ill])
    found = [name for name, secret in PLANTED.items() if secret.lower() in everything.lower()]
    assert found == []
    assert [secret for secret in [*given, PASSWORD] if secret in everything] == []
