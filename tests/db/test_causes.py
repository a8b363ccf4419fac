"""Why a database does not answer, in words that an operator can act on and without anything secret."""

import logging
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.db import errors
from directory.db.errors import cause_of
from directory.errors import Unavailable
from tests.conftest import build, migrate
from tests.support import servers
from tests.support.factories import Api
from tests.support.processes import free_port

SECRET = "hunter2"


def cause(url: str) -> str:
    """The cause that /readyz and the log of a request show, after a look that they repeat nothing secret."""
    engine = create_engine(url, connect_args={"connect_timeout": 2} if "postgresql" in url else {})
    with pytest.raises(DBAPIError) as raised, engine.connect() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM projects")
    found = cause_of(raised.value)
    assert SECRET not in found
    app = build(url)
    shown = Api(app).get("/readyz").json["checks"]["database"]
    assert shown == {"ok": False, "reason": found}
    return found


@contextmanager
def refusing_server(code: str, message: str) -> Iterator[int]:
    """A server that speaks as much of PostgreSQL's protocol as it takes to refuse whoever signs in."""
    fields = b"SFATAL\0VFATAL\0C" + code.encode() + b"\0M" + message.encode() + b"\0\0"
    refusal = b"E" + (len(fields) + 4).to_bytes(4, "big") + fields

    def serve() -> None:
        while True:
            try:
                client, _ = listening.accept()
            except OSError:
                return
            with client:
                while (length := int.from_bytes(client.recv(4), "big")) and client.recv(length - 4)[:2] == b"\x04\xd2":
                    client.sendall(b"N")  # no encryption
                client.sendall(refusal)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=serve, daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        ("28P01", 'password authentication failed for user "ada"', "the database refuses the password"),
        ("28000", 'no pg_hba.conf entry for host "10.0.0.1", user "ada"', "the database refuses this host or user"),
        ("28000", 'role "ada" does not exist', "the database refuses the user"),
        ("3D000", 'database "directory" does not exist', "there is no database of that name"),
        ("53300", "sorry, too many clients already", "the database has no connections left"),
        ("57P03", "the database system is starting up", "the database is starting up or shutting down"),
        ("XX000", "etwas anderes", "the database cannot be reached"),
    ],
)
def test_a_refused_connection(code: str, message: str, expected: str) -> None:
    with refusing_server(code, message) as port:
        assert cause(f"postgresql+psycopg://ada:{SECRET}@127.0.0.1:{port}/directory") == expected


@pytest.mark.postgresql
def test_an_unknown_database_of_a_real_server() -> None:
    with servers.or_skip():
        server = make_url(servers.url_of(servers.DATABASE))
    unknown = server.set(database="no_such_database").render_as_string(hide_password=False)
    assert cause(unknown) == "there is no database of that name"


def test_a_host_that_nobody_knows_and_a_port_where_nothing_listens() -> None:
    unknown = f"postgresql+psycopg://ada:{SECRET}@no-such-host.invalid/directory"
    assert cause(unknown) == "the host of the database is unknown"
    closed = f"postgresql+psycopg://ada:{SECRET}@127.0.0.1:{free_port()}/directory"
    assert cause(closed) == "the database refuses connections: it is down, or the port is wrong"


def test_files_of_sqlite_that_are_none_and_that_cannot_be_opened(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no database " * 100)
    assert cause(f"sqlite:///{tmp_path / 'text'}") == "the file is not a database"
    assert cause(f"sqlite:///{tmp_path / 'missing' / 'x.db'}") == "the database file cannot be opened"


def test_a_full_disk_and_a_pool_without_a_free_connection(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    migrate(url)
    engine = create_engine(url)
    with engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(OperationalError) as raised:
            connection.exec_driver_sql("CREATE TABLE more AS SELECT zeroblob(1000000)")
    assert cause_of(raised.value) == "the disk of the database is full"
    assert cause_of(PoolTimeout()) == cause_of(TimeoutError()) == "the database does not answer in time"


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (PoolTimeout("late"), "INFO"), (Unavailable("locked"), "INFO"),
        (DBAPIError("x", None, psycopg.errors.QueryCanceled("x")), "INFO"),
        (DBAPIError("x", None, psycopg.errors.UndefinedFunction("x")), "INFO"),
        (DBAPIError("x", None, psycopg.OperationalError("x"), connection_invalidated=True), "INFO"),
        (DBAPIError("x", None, psycopg.errors.SyntaxError("x")), "ERROR"),
        (DBAPIError("x", None, psycopg.errors.UniqueViolation("x")), "ERROR"),
        (KeyError("x"), "ERROR"), (TypeError("x"), "ERROR"),
    ],
)  # fmt: skip
def test_a_failure_of_the_database_is_a_line_and_a_fault_of_ours_has_its_trace(
    error: Exception, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "directory.x")
    errors.log_failure(logging.getLogger("directory.x"), "tried in another way", error)
    [record] = caplog.records
    assert (record.levelname, record.message) == (level, "tried in another way")
    if level == "ERROR":
        assert record.exc_info is not None
        assert record.exc_info[1] is error
    else:
        assert record.__dict__["reason"] == (errors.state_of(error) or type(error).__name__)


def test_every_cause_is_one_line_for_people() -> None:
    for text in {*errors.CAUSES.values(), *errors.CONNECTING.values(), errors.OUT_OF_REACH}:
        assert text.isprintable()
        assert not text.endswith(".")
