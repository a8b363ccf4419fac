"""Who asks, looked up by the worker's loop for all that a turn brings: the same caller, and never a late one."""

import json
import re
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from directory.server.wire import Quickest, Wire
from flask import Flask
from sqlalchemy import select, text

from directory.db.lookup import LookUp
from directory.db.transactions import transaction
from directory.extensions import db
from directory.http import authentication
from directory.http.metrics import VOTES
from directory.models import Token
from directory.server.request_reader import Bare
from directory.services.accounts import sessions
from directory.services.accounts.identity import Caller
from tests.conftest import ENVIRONMENT, Database, Statements
from tests.server.test_fast_path import Line
from tests.support.factories import World
from tests.support.serving import Serving, serving

SERVER = {"SERVER_NAME": "localhost", "SERVER_PORT": "80", "REMOTE_ADDR": "192.0.2.1", "wsgi.errors": None}


@pytest.fixture
def wire(app: Flask) -> Wire:
    """The wire of an application whose guard has its connection."""
    made: Wire = app.extensions["wire"]
    app.extensions["guard"].moment()
    return made


def bare(wire: Wire, path: str = "/api/auth/me", **headers: str) -> Bare:
    lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "localhost", **headers}.items())
    found = wire.asked(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
    assert isinstance(found, Bare)
    return found


def proofs_of(app: Flask, user: Caller) -> tuple[str, str]:
    """A token and a cookie of a user."""
    with app.app_context():
        token = transaction(lambda: sessions.issue_token("x", None, by=user))["token"]
        return token, transaction(lambda: sessions.begin(user.id, user_agent="x"))


def answered(wire: Wire, asked: Bare) -> tuple[int, Any]:
    sent = wire.whole(asked, SERVER)
    return int(sent.status[:3]), json.loads(sent.body).get("username")


def test_those_of_a_turn_are_looked_up_by_one_look_for_each_kind(
    app: Flask, world: World, wire: Wire, statements: Statements, database: Database
) -> None:
    users = [world.user() for _ in range(3)]
    (token, cookie), (other, _), (late, _) = [proofs_of(app, user) for user in users]
    with app.app_context():
        transaction(lambda: db.session.query(Token).filter_by(token_hash=sessions.digest(late)).delete())
    name = app.config["COOKIE_NAME"]
    asked = [
        bare(wire, Authorization=f"Bearer {token}"), bare(wire, Cookie=f"a=b; {name}={cookie}"),
        bare(wire, Authorization=f"basic x, BEARER  {other} "), bare(wire, Authorization=f"Bearer {late}"),
        bare(wire, Authorization="Bearer "), bare(wire, Cookie=f"{name}="),
        bare(wire, Authorization=f"Bearer {other}", Cookie=f"{name}={cookie}"),
    ]  # fmt: skip
    statements.clear()
    wire.look_ahead(asked)
    looks = len(statements)
    assert looks == (2 if database.backend == "postgresql" else 6)
    expected = [(200, users[n].username) for n in (0, 0, 1)] + [(401, None)] * 3 + [(200, users[1].username)]
    assert [answered(wire, each) for each in asked] == expected
    assert [sql for sql in statements[looks:] if "token_hash" in sql] == []


def test_a_proof_of_one_kind_is_none_of_the_other(app: Flask, world: World, wire: Wire) -> None:
    token, cookie = proofs_of(app, world.user())
    name = app.config["COOKIE_NAME"]
    asked = [
        bare(wire, Authorization=f"Bearer {token}"), bare(wire, Cookie=f"{name}={cookie}"),
        bare(wire, Authorization=f"Bearer {cookie}"), bare(wire, Cookie=f"{name}={token}"),
    ]  # fmt: skip
    wire.look_ahead(asked)
    assert [answered(wire, each)[0] for each in asked] == [200, 200, 401, 401]


def test_votes_are_what_is_served_together(app: Flask, wire: Wire) -> None:
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(id:)?[^>]*>", "17", rule.rule)
        if path.startswith("/api/"):
            assert wire.gathers(bare(wire, path, Cookie="a=b")) == (rule.endpoint in VOTES), rule


@pytest.mark.parametrize("why", ["it fails", "there is no connection"])
def test_without_a_look_the_application_looks_for_itself(
    app: Flask, world: World, wire: Wire, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    user = world.user()
    token, _ = proofs_of(app, user)
    asked, guard = bare(wire, Authorization=f"Bearer {token}"), app.extensions["guard"]
    if why == "it fails":
        broken = LookUp(select(text("1 / nothing")), Token.id)
        with monkeypatch.context() as patched:
            patched.setattr(authentication, "proof", lambda *_: sessions.Proof(broken, "x"))
            wire.look_ahead([asked])
    else:
        guard.close()
        wire.look_ahead([asked])
    assert guard.is_open == (why == "it fails")
    assert not asked.environ.get(authentication.KNOWN)
    assert answered(wire, asked) == (200, user.username)
    wire.prepare()
    assert guard.is_open  # for those that come next


def test_what_was_looked_up_long_ago_is_looked_up_again(app: Flask, world: World, wire: Wire) -> None:
    token, _ = proofs_of(app, world.user())
    asked = [bare(wire, Authorization=f"Bearer {token}") for _ in range(2)]
    wire.look_ahead(asked)
    with app.app_context():
        transaction(lambda: db.session.query(Token).filter_by(token_hash=sessions.digest(token)).delete())
    assert [wire.whole(each, SERVER, waited).status[:3] for each, waited in zip(asked, (0.5, 1.5), strict=True)] == [
        b"200", b"401",
    ]  # fmt: skip


def test_the_quickest_of_some_looks_tells_whether_the_database_is_near(app: Flask, world: World, wire: Wire) -> None:
    assert wire.is_near
    quickest = Quickest(3)
    for seconds, known in ((0.5, 0.0), (0.2, 0.0), (0.9, 0.2), (0.1, 0.2), (0.8, 0.2), (0.8, 0.1)):
        quickest.take(seconds)
        assert quickest.seconds == known
    token, _ = proofs_of(app, world.user())
    wire._distance = Quickest(1)
    assert wire.look_ahead([bare(wire, Authorization=f"Bearer {token}")])
    assert 0 < wire._distance.seconds < 60
    wire._distance.seconds = 1.0
    assert not wire.is_near
    assert not wire.look_ahead([bare(wire, Accept="*/*", Cookie="a=b")])  # it is nobody's


@pytest.fixture
def server(database: Database, tmp_path: Path) -> Iterator[Serving]:
    with serving({**ENVIRONMENT, "DATABASE_URL": database.url}, tmp_path / "log") as served:
        yield served


def test_whom_another_process_has_put_out_is_out(app: Flask, world: World, server: Serving) -> None:
    admin = world.caller(world.admin())
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
