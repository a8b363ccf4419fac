"""Requests as the server answers them: the same answers by whatever way, and never stale ones."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from threading import Barrier, Event

import pytest

from directory.db.transactions import transaction
from directory.extensions import db
from directory.services.accounts import sessions
from tests.conftest import ENVIRONMENT, Database, build
from tests.support.batches import proofs_of
from tests.support.factories import World
from tests.support.line import Line
from tests.support.serving import Serving, serving
from tests.support.voter import race


@pytest.fixture
def world(database: Database) -> Iterator[World]:
    app = build(database.url)
    yield World(app)
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


@pytest.fixture
def server(database: Database, tmp_path: Path) -> Iterator[Serving]:
    settings = {**ENVIRONMENT, "DATABASE_URL": database.url, "TRUSTED_PROXIES": "1", "METRICS_ENABLED": "true"}
    with serving(settings, tmp_path / "log") as served:
        yield served


def test_the_event_loop_answers_what_the_application_does(world: World, server: Serving) -> None:
    project = world.project(tags=["a"])
    with closing(Line(server)) as line:
        line.ask("/healthz")
        for path in ("/api/projects?limit=3", f"/api/projects/{project}", "/api/categories", "/api/projects.atom"):
            answers = [line.ask(path, X_Request_ID="mine", X_Forwarded_Proto="https") for _ in range(3)]
            answers.append(line.ask(path, X_Request_ID="mine", X_Forwarded_Proto="https", Cookie="no=session"))
            for _, headers, _ in answers:
                del headers["Date"]
                assert headers.pop("X-Request-ID") == "mine"
            assert answers.count(answers[0]) == 4, path
            assert "Strict-Transport-Security" in answers[0][1]
            etag = answers[0][1]["ETag"]
            assert line.ask(path, If_None_Match=etag)[0] == b"HTTP/1.1 304 NOT MODIFIED\r\n"
        for path, status in (("/api/projects/999", b"404"), ("/api/projects?page=0", b"422"), ("/api/none", b"404")):
            for _ in range(2):
                told, headers, body = line.ask(path)
                assert told.split()[1] == status
                assert json.loads(body)["request_id"] == headers["X-Request-ID"]
        counted = line.ask("/metrics")[2].decode()
    assert 'route="/api/projects",status="200"} 4' in counted.replace('method="GET",', "")


def test_a_signed_in_caller_gets_the_same_answer_as_from_gunicorns_worker(world: World, server: Serving) -> None:
    """Each request twice: as it is, and with a header that the worker leaves to gunicorn."""
    owner, other = world.user(), world.caller(world.user())
    mine, project = world.caller(owner).token or "", world.project(owner)
    token = f"Bearer {other.token}"
    asked: list[tuple[str, str, dict[str, str]]] = [
        ("PUT", f"/api/projects/{project}/upvote", {"Authorization": token}),
        ("PUT", f"/api/projects/{project}/upvote", {"Authorization": token, "Content-Length": "0"}),
        ("DELETE", f"/api/projects/{project}/upvote", {"Authorization": token}),
        ("PUT", "/api/projects/999/upvote", {"Authorization": token}),
        ("PUT", f"/api/projects/{project}/upvote", {"Authorization": "Bearer wrong"}),
        ("PUT", f"/api/projects/{project}/upvote", {}),
        ("PUT", f"/api/projects/{project}/upvote", {"Cookie": "directory=x", "Sec-Fetch-Site": "cross-site"}),
        ("PUT", f"/api/projects/{project}/upvote", {"Cookie": "directory=x", "Origin": "https://evil.example"}),
        ("DELETE", f"/api/projects/{project}", {"Authorization": token}),
        ("PUT", f"/api/projects/{project}", {"Authorization": token}),
        ("POST", "/api/projects", {"Authorization": token, "Content-Type": "application/json"}),
        ("POST", "/api/none", {"Authorization": token}),
        ("PATCH", "/api/projects", {"Authorization": token}),
        ("GET", "/api/auth/me", {"Authorization": token}),
        ("GET", "/api/auth/me", {"Authorization": token, "X-Forwarded-Proto": "https"}),
        ("GET", f"/api/projects/{project}", {"Authorization": token, "If-None-Match": "*"}),
        ("GET", "/api/projects?page=0", {"Authorization": token}),
    ]
    with closing(Line(server)) as line:
        line.ask("/healthz")
        for method, path, headers in asked:
            answers = [line.ask(path, method, X_Request_ID="mine", **headers, **more) for more in ({}, {"TE": ""})]
            for _, told, _ in answers:
                told.pop("Date")
                assert told["X-Request-ID"] == "mine"
            assert answers[0] == answers[1], (method, path, headers)
        for _ in range(2):  # nothing is left of a bodiless answer that the next one could be taken for
            gone = line.ask(f"/api/projects/{project}", "DELETE", Authorization=f"Bearer {mine}")
            assert gone[0].split()[1] in {b"204", b"404"}
            assert line.ask("/api/auth/me", Authorization=token)[0].split()[1] == b"200"


def test_in_a_batch_each_caller_gets_its_own_answer(world: World, server: Serving) -> None:
    """Votes that come at once, by some who may and some who may not; refused ones keep none of the others."""
    projects, pending = [world.project() for _ in range(2)], world.project(status="pending")
    tokens = [world.caller(world.user()).token for _ in range(16)]
    meet, wrong = Barrier(16, timeout=60), []
    stands: dict[tuple[int, int], bool] = {}

    def vote(n: int) -> None:
        dice = Random(n)
        with closing(Line(server)) as line:
            line.ask("/healthz")
            for turn in range(30):
                project, proof = dice.choice([*projects, pending, 10**9]), f"Bearer {tokens[n]}"
                refused = dice.random() < 0.1
                headers = {"X_Request_ID": f"{n}.{turn}", "Authorization": "Bearer none" if refused else proof}
                if turn % 10 == 0:
                    meet.wait()
                status, told, body = line.ask(f"/api/projects/{project}/upvote", "POST", **headers)
                expected = b"401" if refused else b"200" if project in projects else b"404"
                answer = json.loads(body)
                if status.split()[1] != expected or told["X-Request-ID"] != f"{n}.{turn}":
                    wrong.append((n, turn, status, told, body))
                elif expected == b"200":
                    stands[n, project] = not stands.get((n, project), False)
                    if (answer["project_id"], answer["upvoted"]) != (project, stands[n, project]):
                        wrong.append((n, turn, answer, stands[n, project]))

    with ThreadPoolExecutor(16) as pool:
        for voted in [pool.submit(vote, n) for n in range(16)]:
            voted.result(120)
    assert wrong == []
    counts = [sum(there for (_, each), there in stands.items() if each == project) for project in projects]
    assert [world.stored(project)["upvotes"] for project in projects] == counts
    assert counts != [0, 0]


def test_a_write_acknowledged_by_another_process_is_in_the_next_answer(
    world: World, server: Serving, database: Database
) -> None:
    project = world.project()
    tokens = [world.caller(world.user()).token for _ in range(30)]
    wrong, reads = [], [0]

    def read(acknowledged: list[int], ended: Event) -> None:
        with closing(Line(server)) as line:
            while not ended.is_set():
                before = acknowledged[-1]
                for path in (f"/api/projects/{project}", "/api/projects?sort=upvotes"):
                    body = json.loads(line.ask(path)[2])
                    shown = body["upvotes"] if "upvotes" in body else body["items"][0]["upvotes"]
                    reads[0] += 1
                    if shown < before:
                        wrong.append((path, before, shown))

    acknowledged = race(database.url, project, tokens, read)
    assert acknowledged[-1] == 30
    assert wrong == []
    assert reads[0] > 30


def test_connections_that_are_idle_are_closed_and_those_in_use_are_not(world: World, server: Serving) -> None:
    world.project()
    with closing(Line(server)) as busy, closing(Line(server)) as idle:
        for line in (busy, idle):
            for _ in range(2):
                assert line.ask("/api/projects")[0].split()[1] == b"200"
        give_up = time.monotonic() + 30
        while time.monotonic() < give_up:
            assert busy.ask("/api/projects")[0].split()[1] == b"200"
            idle.socket.settimeout(0.5)
            try:
                assert idle.socket.recv(1) == b""
                return
            except TimeoutError:
                continue
    raise AssertionError("an idle connection stays")


def test_a_session_that_another_process_ended_is_refused(world: World, server: Serving) -> None:
    admin = world.caller(world.admin())
    app = world.app
    name = app.config["COOKIE_NAME"]
    with closing(Line(server)) as line, closing(Line(server)) as beside:
        stays = {"Authorization": f"Bearer {world.caller(world.user()).token}"}
        for n in range(12):
            user = world.user()
            token, cookie = proofs_of(app, user)
            given = [{"Authorization": f"Bearer {token}"}, {"Cookie": f"{name}={cookie}"}]
            for proof in given:
                assert line.ask("/api/auth/me", **proof)[0].split()[1] == b"200"
            if n % 2:
                assert admin.put(f"/api/admin/users/{user.id}", {"status": "suspended"}).status_code == 200
            else:
                with app.app_context():
                    transaction(lambda: sessions.end_everything(user.id))  # noqa: B023 (run at once)
            for proof in given:
                assert line.ask("/api/auth/me", **proof)[0].split()[1] == b"401"
                assert beside.ask("/api/auth/me", **stays)[0].split()[1] == b"200"
