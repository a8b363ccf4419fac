"""Of several servers the primary is used, and no success is believed that a failover would take back."""

import logging
from collections.abc import Iterator
from functools import partial
from typing import Any

import psycopg
import pytest
from flask import Flask
from sqlalchemy import String, bindparam, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from directory.db import deadline
from directory.db.deadline_connection import Connector, Servers
from directory.db.errors import is_undone
from directory.db.snapshots import open_reader
from directory.db.statements import Prepared
from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import User
from tests.conftest import Database, build, migrate
from tests.support import servers
from tests.support.caching import close_snapshots
from tests.support.factories import World
from tests.support.waiting import until

pytestmark = pytest.mark.usefixtures("waits_as_shipped")
BOTH = {"host": "a,b", "port": "1,2", "target_session_attrs": "read-write"}
RENAME = Prepared(
    text("UPDATE users SET username = username || :more RETURNING 1").bindparams(bindparam("more", type_=String()))
)


def order(found: Servers, **named: str) -> list[str]:
    return [f"{arguments['host']}:{arguments.get('port')}" for _, arguments in found.attempts(named)]


def test_the_server_of_the_last_connection_is_tried_first() -> None:
    found = Servers()
    assert order(found, **BOTH) == ["a:1", "b:2"]
    found.connected("b:2")
    assert order(found, **BOTH) == ["b:2", "a:1"]
    assert all(arguments["target_session_attrs"] == "read-write" for _, arguments in found.attempts(BOTH))
    assert order(found, host="a,b", port="5") == ["a:5", "b:5"]
    assert order(found, host="a,b") == ["a:", "b:"]


def test_a_server_that_gave_no_answer_is_tried_last_until_it_gives_one() -> None:
    found = Servers()
    found.connected("a:1")
    found.timed_out("a:1")
    assert order(found, **BOTH) == ["b:2", "a:1"]
    found.connected("a:1")
    assert order(found, **BOTH) == ["a:1", "b:2"]


@pytest.mark.parametrize(
    "named", [{"host": "a", "port": "1"}, {"host": "a,b", "port": "1,2,3"}, {**BOTH, "hostaddr": "x"}]
)
def test_what_is_no_list_of_servers_is_left_to_the_driver(named: dict[str, str]) -> None:
    assert Servers().attempts(named) == [("", named)]
    assert Servers().attempts({"dbname": "d"}) == [("", {"dbname": "d"})]


def test_a_failover_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    found = Servers()
    with caplog.at_level(logging.WARNING, "directory.db.deadline_connection"):
        for server in ("a:1", "a:1", "b:2", "b:2"):
            found.connected(server)
    (line,) = caplog.records
    assert line.getMessage() == "another server of DATABASE_URL is the primary"
    assert line.__dict__["server"] == "b:2"


def test_where_no_server_lets_in_the_error_is_that_of_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_connect: Any, _given: Any, named: dict[str, str]) -> Any:
        raise psycopg.OperationalError(f"{named['host']} refuses")

    connector = Connector()
    monkeypatch.setattr(connector.route, "open", refuse)
    with pytest.raises(psycopg.OperationalError, match="a refuses"):
        connector.connect((), BOTH)
    with deadline.within(0.1), pytest.raises(psycopg.OperationalError, match="no time left to connect"):
        connector.connect((), BOTH)


@pytest.fixture
def twofold(database: Database) -> Iterator[Flask]:
    """An application with two names for its one server."""
    url = make_url(database.url)
    hosts = [f"{name}:{url.port}" for name in ("127.0.0.1", "localhost")]
    query = {"host": hosts, "target_session_attrs": "read-write"}
    app = build(url.set(host=None, port=None, query=query).render_as_string(hide_password=False))
    yield app
    close(app)


def close(app: Flask) -> None:
    with app.app_context():
        db.session.remove()
        db.engine.dispose()
    close_snapshots(app)


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
def test_no_connection_to_a_server_that_was_replaced_is_used(twofold: Flask) -> None:
    with twofold.app_context():
        before: Any = db.engine.raw_connection().dbapi_connection
        reader = open_reader(db.engine)
        reader.read(None, 5.0)
        servers_of_engine = before.servers
        assert (before.server, before.info.host) == (servers_of_engine.current, "127.0.0.1")
        servers_of_engine.connected(before.server.replace("127.0.0.1", "localhost"))
        with pytest.raises(psycopg.OperationalError, match="another server"):
            reader.read(None, 5.0)
        with db.engine.connect() as connection:
            after: Any = connection.connection.dbapi_connection
            assert (after.info.host, after.is_superseded) == ("localhost", False)
        with db.engine.connect() as connection:
            assert connection.connection.dbapi_connection is after


@pytest.fixture(scope="module")
def unconfirmed() -> Iterator[Flask]:
    """An application on a primary whose synchronous standby is gone."""
    with servers.or_skip():
        server = servers.postgresql(synchronous_commit="on")
    with server:
        migrate(server.url)
        app = build(server.url)
        World(app).user()
        with servers.connect(server.url) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'gone'")
            connection.execute("SELECT pg_reload_conf()")
            until(lambda: connection.execute("SHOW synchronous_standby_names").fetchone() == ("gone",))
            connection.execute("CHECKPOINT")  # its process tells the others that commits wait, once it has reloaded
        yield app
        close(app)


@pytest.mark.parametrize("single", [False, True])
def test_a_commit_that_no_standby_has_confirmed_is_not_acknowledged(unconfirmed: Flask, single: bool) -> None:
    """The server reports success for a commit that is cancelled while it waits, and would lose it in a failover."""
    with unconfirmed.app_context():
        with deadline.within(0.3), pytest.raises(DBAPIError) as raised:
            transaction(partial(RENAME.all, {"more": "x"}), single=single)
        assert raised.value.connection_invalidated
        assert not is_undone(raised.value)
        assert db.session.scalar(select(User.username).where(User.username.endswith("x"))), "it was committed"
