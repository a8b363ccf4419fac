"""Health and readiness, and the pages for people."""

import re
import time
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from threading import Event

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import text

from directory.db.transactions import transaction
from directory.extensions import db, limiter
from directory.http import readiness
from directory.http.problem_kinds import KINDS
from directory.models import Delivery, now
from directory.services import build as this_build
from directory.services import health
from tests.conftest import build
from tests.support import servers
from tests.support.factories import Api

READY = {"ok": True, "reason": None}


@contextmanager
def over(url):
    """An application over a database of its own."""
    app = build(url)
    yield app
    with app.app_context():
        db.engine.dispose()


@pytest.fixture
def dark():
    """An application over a database that is not there."""
    with over("postgresql+psycopg://nobody@127.0.0.1:1/nowhere") as app:
        yield app


def outbox_row(app, age, state="pending"):
    with app.app_context():
        row = Delivery(
            webhook_id=f"msg_{age}", event="project.approved", endpoint="e", payload="{}", state=state,
            created_at=now() - timedelta(seconds=age), settled_at=None if state == "pending" else now(),
        )  # fmt: skip
        transaction(lambda: db.session.add(row))


def test_health_needs_nothing_but_the_process(dark):
    cookie = {"Cookie": f"{dark.config['COOKIE_NAME']}=x"}
    answer = Api(dark).get("/healthz", headers=cookie)
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})
    assert answer.headers["Cache-Control"] == "no-store"


def test_no_limit_of_reads_fails_a_probe(make_app):
    api = Api(make_app(RATELIMIT_ENABLED="true", RATELIMIT_READ="1 per hour"))
    assert [api.get(path).status_code for path in ("/healthz", "/readyz") * 3] == [200] * 6
    assert [api.get("/api/categories").status_code for _ in range(2)] == [200, 429]


def test_a_service_that_can_work_says_so(api):
    answer = api.get("/readyz")
    head = health.heads()[0]
    assert answer.status_code == 200
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json == {
        "status": "ready",
        **this_build.described(),
        "checks": {
            "database": READY,
            "migrations": {"ok": True, "current": head, "head": head},
            "redis": None,
            "webhooks": {"oldest_undelivered_seconds": None},
            "mail": None,
        },
    }


def test_the_oldest_undelivered_webhook_is_told_of(app, api):
    for age, state in ((100, "pending"), (900, "pending"), (5000, "delivered"), (6000, "dead")):
        outbox_row(app, age, state)
    age = api.get("/readyz").json["checks"]["webhooks"]["oldest_undelivered_seconds"]
    assert 900 <= age < 1000


def test_a_database_that_is_away_is_told_of(dark):
    answer = Api(dark).get("/readyz")
    checks = answer.json["checks"]
    assert (answer.status_code, answer.json["code"]) == (503, "unavailable")
    assert int(answer.headers["Retry-After"]) > 0
    assert checks["database"] == {
        "ok": False,
        "reason": "the database refuses connections: it is down, or the port is wrong",
    }
    assert (answer.json["version"], answer.json["commit"]) == (this_build.VERSION, this_build.commit())
    assert checks["migrations"] == {"ok": False, "current": None, "head": health.heads()[0]}


def test_a_database_that_was_never_migrated_is_not_ready(tmp_path):
    with over(f"sqlite:///{tmp_path / 'empty.db'}") as app:
        answer = Api(app).get("/readyz")
    assert answer.status_code == 503
    assert answer.json["checks"]["database"] == READY
    assert answer.json["checks"]["migrations"]["current"] is None


def _mark(app, revision):
    """Have the database say that it was migrated to there."""
    with app.app_context():
        transaction(lambda: db.session.execute(text("UPDATE alembic_version SET version_num = :to"), {"to": revision}))


@pytest.fixture
def marked(app):
    """Lets the database say so; at the end it says again what is true."""
    yield partial(_mark, app)
    _mark(app, health.heads()[0])


@pytest.mark.parametrize("current", ["0001", "0000", "ae1027a6acf8", ""])
def test_a_database_that_is_behind_or_not_ours_is_not_ready(api, marked, current):
    marked(current)
    answer = api.get("/readyz")
    assert (answer.status_code, answer.json["code"]) == (503, "unavailable")
    assert answer.json["checks"]["migrations"] == {"ok": False, "current": current or None, "head": health.heads()[0]}


def test_a_database_that_is_ahead_is_ready_for_the_old_hosts_of_an_upgrade(app, api, marked):
    outbox_row(app, 900)
    marked("9999")
    answer = api.get("/readyz")
    assert answer.status_code == 200
    assert answer.json["checks"]["migrations"] == {"ok": True, "current": "9999", "head": health.heads()[0]}
    assert answer.json["checks"]["webhooks"]["oldest_undelivered_seconds"] >= 900


def test_migrations_are_numbered_in_their_order_so_that_the_later_is_the_greater():
    directory = ScriptDirectory(str(health.MIGRATIONS))
    numbers = [script.revision for script in directory.walk_revisions()][::-1]
    assert numbers == sorted(numbers)
    assert all(re.fullmatch(r"\d{4}", number) for number in numbers)


@pytest.mark.faults
@pytest.mark.postgresql
@pytest.mark.usefixtures("waits_as_shipped")
def test_a_database_that_is_mute_holds_nobody_up():
    with servers.postgresql() as server, over(server.url) as app:
        api = Api(app)
        assert api.get("/readyz").json["checks"]["database"] == READY
        server.pause()
        muted = [api.get("/readyz").json["checks"]["database"] for _ in range(2)]
        server.resume()
        assert muted == [{"ok": False, "reason": "the database does not answer in time"}] * 2
        give_up = time.monotonic() + 10  # it is asked again four times a second
        while api.get("/readyz").json["checks"]["database"] != READY:
            assert time.monotonic() < give_up
            time.sleep(0.05)


def test_a_check_that_hangs_is_not_started_again():
    released, started = Event(), []

    def work():
        started.append(1)
        released.wait()
        return "done"

    check = health.Bounded(work, 0.01)
    for _ in range(3):
        with pytest.raises(TimeoutError):
            check()
    assert len(started) == 1
    released.set()
    check._seconds = 60
    assert check() == "done"
    assert check() == "done"
    assert len(started) == 2


def test_a_check_that_fails_raises_what_it_failed_with():
    def work():
        raise LookupError

    with pytest.raises(LookupError):
        health.Bounded(work, 60)()


@pytest.mark.faults
@pytest.mark.redis
def test_redis_is_told_of_and_decides_nothing(make_app, monkeypatch):
    monkeypatch.setattr(limiter, "_storage_dead", False)
    with servers.redis() as server:
        api = Api(make_app(REDIS_URL=server.url, RATELIMIT_ENABLED="true"))
        assert api.get("/readyz").json["checks"]["redis"] == {"ok": True, "fallback": False}
        server.stop()
        api.post("/api/auth/login", {"login": "ada", "password": "x"})
        answer = api.get("/readyz")
    assert answer.status_code == 200
    assert answer.json["checks"]["redis"] == {"ok": False, "fallback": True}


def test_a_redis_that_is_mute_holds_nobody_up(make_app, monkeypatch):
    api = Api(make_app(REDIS_URL="redis://127.0.0.1:1/0", RATELIMIT_ENABLED="true"))
    released = Event()
    monkeypatch.setattr(limiter.storage, "check", released.wait)
    monkeypatch.setattr(readiness, "REDIS_SECONDS", 0.01)
    answer = api.get("/readyz")
    released.set()
    assert (answer.status_code, answer.json["checks"]["redis"]["ok"]) == (200, False)


def test_sentinels_out_of_reach_decide_nothing_and_are_each_asked_once(make_app, monkeypatch):
    monkeypatch.setattr(limiter, "_storage_dead", False)
    url = "redis+sentinel://127.0.0.1:1,127.0.0.1:2/directory"
    api = Api(make_app(REDIS_URL=url, RATELIMIT_ENABLED="true"))
    assert api.post("/api/auth/login", {"login": "ada", "password": "x"}).status_code == 401
    assert api.get("/readyz").json["checks"]["redis"] == {"ok": False, "fallback": True}
    for sentinel in limiter.storage.sentinel.sentinels:
        options = sentinel.get_connection_kwargs()
        assert (options["retry"], options["socket_timeout"], options["socket_connect_timeout"]) == (None, 0.25, 0.25)


def test_a_redis_that_nothing_is_counted_in_is_not_asked(make_app, monkeypatch):
    monkeypatch.setattr(limiter, "_storage", None)  # which an application before this one has left there
    api = Api(make_app(REDIS_URL="redis://127.0.0.1:1/0", RATELIMIT_ENABLED="false", METRICS_ENABLED="true"))
    ready = api.get("/readyz")
    assert (ready.status_code, ready.json["checks"]["redis"]) == (200, None)
    assert "directory_ratelimit_fallback 0" in api.get("/metrics").text


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/metrics", "/api/openapi.json", "/api/docs", "/api/problems"])
def test_an_unknown_parameter_is_refused_here_too(api, path):
    answer = api.get(f"{path}?x=1")
    assert (answer.status_code, answer.json["errors"][0]["parameter"]) == (422, "x")


def test_every_kind_of_problem_has_its_page(api):
    for code, kind in KINDS.items():
        page = api.get(f"/api/problems/{code}")
        assert page.status_code == 200
        assert page.content_type == "text/html; charset=utf-8"
        assert f"<h1>{kind.title}</h1>" in page.text
        assert f'href="/api/problems/{code}"' in api.get("/api/problems").text


def test_an_unknown_kind_has_none(api):
    answer = api.get("/api/problems/nonsense")
    assert (answer.status_code, answer.json["code"]) == (404, "not_found")


@pytest.mark.parametrize("path", ["/api/docs", "/api/problems", "/api/problems/internal"])
def test_a_page_loads_nothing_but_what_its_policy_lets_in(api, path):
    page = api.get(path)
    policy = page.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe-eval" not in policy
    assert "script-src 'self'" in policy or "script-src" not in policy
    assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=", page.text)
    addresses = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert addresses
    assert not [address for address in addresses if "//" in address]


def test_the_rendered_document_says_how_to_sign_in(api):
    text = re.search(r'<p class="sign-in">(.+?)</p>', api.get("/api/docs").text, re.DOTALL)[1]
    named = re.findall(r"<code>POST ([^<]+)</code>", text)
    assert named == ["/api/auth/login", "/api/auth/tokens"]
    assert [api.post(path).status_code for path in named] == [415, 401]


def test_what_the_pages_load_is_there_to_stay(api):
    named = set(re.findall(r"/api/docs/\w+/[\w.-]+", api.get("/api/docs").text + api.get("/api/problems").text))
    assert len(named) == 5
    for address in named:
        answer = api.get(address)
        assert answer.status_code == 200
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.content_length == len(answer.data) > 100
    assert {api.get(address).mimetype for address in named} == {"text/css", "text/javascript", "image/png"}


@pytest.mark.parametrize("name", ["index.html", "..%2f..%2fwsgi.py", "../docs", "LICENSE", "swagger-ui.js"])
def test_no_other_file_is_served(api, name):
    version = re.search(r"/api/docs/(\w+)/", api.get("/api/docs").text)[1]
    assert api.get(f"/api/docs/{version}/{name}").status_code == 404
    assert api.get(f"/api/docs/{version[::-1]}/pages.css").status_code == 404
