"""The same requests to our worker and to gunicorn's own: the same bytes, the same state of the connection after.

Each worker has a database of its own, both with the same rows, so that successful votes are compared too.
`DIFFERENTIAL_EXAMPLES` sets how many requests are sent: 200 by default, 20,000 by `make fuzz`; `DIFFERENTIAL_SEED`
which.
"""

import os
import sqlite3
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from directory.db.transactions import transaction
from directory.extensions import db
from directory.services.accounts import sessions
from tests.conftest import ENVIRONMENT, build, migrate
from tests.support import servers
from tests.support.browsers import COOKIE
from tests.support.caching import close_snapshots
from tests.support.differential import Credentials, answers, intended, requests
from tests.support.factories import World
from tests.support.serving import Serving, serving

EXAMPLES = int(os.environ.get("DIFFERENTIAL_EXAMPLES", "200"))
SEED = int(os.environ.get("DIFFERENTIAL_SEED", "1"))
PLANTED = {
    "accepts LF without CR": "receive = Connection.data_received\n"
    "Connection.data_received = lambda self, data: receive(self, re.sub(rb'(?<!\\r)\\n', b'\\r\\n', data))",
    "takes Transfer-Encoding as absent": "receive = Connection.data_received\n"
    "Connection.data_received = lambda self, data: receive(self, data.replace(b'Transfer-Encoding', b'X-Nothing'))",
    "keeps a connection that is to be closed": "receive = Connection.data_received\n"
    "Connection.data_received = lambda self, data: receive(self, data.replace(b'Connection: close\\r\\n', b''))",
    "votes for another project": "receive = Connection.data_received\n"
    "Connection.data_received = lambda self, data: receive(self, data.replace(b'/3/upvote', b'/2/upvote'))",
}
PROGRAM = """
import re
from directory.server.protocol import Connection
{planted}
from wsgi import app
"""


class Servers:
    """gunicorn's own worker and ours, each with a database of its own that holds the same rows."""

    def __init__(self, stock: Serving, ours: Serving, credentials: Credentials) -> None:
        self.stock, self.ours, self.credentials = stock, ours, credentials
        self.votes = 0  # that succeeded

    def differences(self, count: int, seed: int = SEED) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The requests that they answer differently, with both answers."""
        with ThreadPoolExecutor(1) as beside:
            for request in islice(requests(seed, self.credentials), count):
                stock = beside.submit(answers, self.stock.port, request)
                ours = answers(self.ours.port, request)
                self.votes += b'"upvoted":' in ours
                theirs = stock.result()
                if theirs == ours:
                    continue
                if intended(request, theirs, ours) is None:
                    yield request, theirs, ours
                elif b'"upvoted":' in theirs + ours:  # perhaps one of them alone has counted it
                    self._withdraw_votes()

    def _withdraw_votes(self) -> None:
        """Make the votes of both databases the same again: none."""
        for project in range(1, 4):
            vote = b"DELETE /api/projects/%d/upvote HTTP/1.1\r\nHost: x\r\n%s\r\n" % (project, self.credentials.token)
            for port in (self.stock.port, self.ours.port):
                assert b'"upvoted":false' in answers(port, vote)


def seed(url: str) -> Credentials:
    """Three projects, and a member who is signed in by a token and by a cookie."""
    world = World(build(url))
    for _ in range(3):
        world.project()
    member = world.user()
    token = f"Authorization: Bearer {world.caller(member).token}\r\n"
    with world.app.app_context():
        secret = transaction(lambda: sessions.begin(member.id, user_agent=""))
        db.session.remove()
        db.engine.dispose()
    close_snapshots(world.app)
    return Credentials(token.encode(), f"Cookie: {COOKIE}={secret}\r\nSec-Fetch-Site: same-origin\r\n".encode())


def environment(url: str, worker: str) -> dict[str, str]:
    return {**ENVIRONMENT, "DATABASE_URL": url, "LOG_LEVEL": "ERROR", "SERVER_WORKER": worker}


class Stock(NamedTuple):
    """gunicorn's own worker over a SQLite database."""

    server: Serving
    path: Path
    credentials: Credentials

    def copy(self, path: Path) -> str:
        """The URL of a copy of the database, as it is now."""
        with closing(sqlite3.connect(self.path)) as source, closing(sqlite3.connect(path)) as target:
            source.backup(target)
        return f"sqlite:///{path}"


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stock]:
    folder = tmp_path_factory.mktemp("stock")
    url = f"sqlite:///{folder / 'stock.db'}"
    migrate(url)
    credentials = seed(url)
    with serving(environment(url, "gthread"), folder / "log") as server:
        yield Stock(server, folder / "stock.db", credentials)


@pytest.fixture
def postgresql() -> Iterator[tuple[str, str, Credentials]]:
    """The URLs of two databases with the same rows."""
    with servers.or_skip():
        server = servers.url_of(servers.DATABASE)
    first, second = (f"differential_{n}_{os.getpid()}" for n in range(2))
    url = servers.create_database(server, first)
    migrate(url)
    credentials = seed(url)
    yield url, servers.create_database(server, second, template=first), credentials
    for name in (first, second):
        servers.drop_database(server, name)


def compare(stock: Serving, ours: Serving, credentials: Credentials) -> None:
    pair = Servers(stock, ours, credentials)
    found = list(islice(pair.differences(EXAMPLES), 5))
    print(f"{EXAMPLES:,} requests, seed {SEED}, {pair.votes:,} successful votes, {len(found)} differences")
    for each in found:
        print(*each, sep="\n", end="\n\n")
    assert found == []
    assert pair.votes > EXAMPLES / 20


def test_both_workers_answer_the_same(stock: Stock, tmp_path: Path) -> None:
    with serving(environment(stock.copy(tmp_path / "ours.db"), "loop"), tmp_path / "log") as ours:
        compare(stock.server, ours, stock.credentials)


@pytest.mark.slow
@pytest.mark.postgresql
def test_both_workers_answer_the_same_on_postgresql(postgresql: tuple[str, str, Credentials], tmp_path: Path) -> None:
    first, second, credentials = postgresql
    with (
        serving(environment(first, "gthread"), tmp_path / "stock.log") as stock,
        serving(environment(second, "loop"), tmp_path / "ours.log") as ours,
    ):
        compare(stock, ours, credentials)


@pytest.mark.slow
@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_difference_is_found(stock: Stock, tmp_path: Path, planted: str) -> None:
    (tmp_path / "planted.py").write_text(PROGRAM.format(planted=PLANTED[planted]))
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    settings = {**environment(stock.copy(tmp_path / "ours.db"), "loop"), "PYTHONPATH": paths}
    with serving(settings, tmp_path / "log", "planted:app") as ours:
        pair = Servers(stock.server, ours, stock.credentials)
        assert next(pair.differences(5000, seed=1), None) is not None
