"""The same requests to our worker and to gunicorn's own, over one database: the same bytes, the same connection after.

`DIFFERENTIAL_EXAMPLES` says how many are tried: 200 by default, 20,000 by `make fuzz`.
"""

import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import islice
from pathlib import Path

import pytest

from tests.conftest import ENVIRONMENT, build, migrate
from tests.support.differential import requests, told
from tests.support.factories import World
from tests.support.serving import Serving, serving

EXAMPLES = int(os.environ.get("DIFFERENTIAL_EXAMPLES", "200"))
PLANTED = {
    "accepts LF without CR": "for name in ('HEAD', 'LINE'):\n"
    "    pattern = getattr(request_reader, name).pattern.replace(rb'\\r\\n', rb'\\r?\\n')\n"
    "    setattr(request_reader, name, re.compile(pattern))",
    "ignores a second Host": "recognise = request_reader.recognise\n"
    "def first_host(data, *given):\n"
    "    first, found, rest = data.partition(b'Host: directory.example\\r\\n')\n"
    "    return recognise(first + found + rest.replace(b'Host: other.example\\r\\n', b''), *given)\n"
    "worker.recognise = first_host",
    "takes Transfer-Encoding as absent": "request_reader.FRAMING -= {b'transfer-encoding'}",
    "takes Expect as absent": "request_reader.FRAMING -= {b'expect'}",
    "keeps a connection that is to be closed": "recognise = request_reader.recognise\n"
    "worker.recognise = lambda data, *given: recognise(data.replace(b'Connection: close\\r\\n', b''), *given)",
    "reads a body as the next request": "request_buffer.RequestBuffer.finish_body = lambda self, deadline=None: True",
}
PROGRAM = """
import re
from directory.server import request_buffer, request_reader, worker
{planted}
from wsgi import app
"""


class Servers:
    """Two servers over one database: gunicorn's own worker, and ours."""

    def __init__(self, stock: Serving, ours: Serving, token: str) -> None:
        self.stock, self.ours, self.token = stock, ours, token.encode()

    def differences(self, count: int, seed: int = 1) -> Iterator[tuple[bytes, bytes, bytes]]:
        """The requests that they answer differently, with both answers."""
        with ThreadPoolExecutor(1) as beside:
            for request in islice(requests(seed, self.token), count):
                stock = beside.submit(told, self.stock.port, request)
                ours = told(self.ours.port, request)
                if stock.result() != ours:
                    yield request, stock.result(), ours


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("differential")
    url = f"sqlite:///{folder / 'x.db'}"
    migrate(url)
    world = World(build(url))
    for _ in range(3):
        world.project()
    token = world.caller(world.user()).token
    # A vote that is there already and a read-only service: an answer depends on no earlier request.
    return {**ENVIRONMENT, "DATABASE_URL": url, "READ_ONLY": "true", "LOG_LEVEL": "ERROR", "TOKEN": token or ""}


@pytest.fixture(scope="module")
def stock(environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    log = tmp_path_factory.mktemp("stock") / "log"
    with serving({**environment, "SERVER_WORKER": "gthread"}, log) as running:
        yield running


def test_both_workers_answer_the_same(environment: dict[str, str], stock: Serving, tmp_path: Path) -> None:
    with serving({**environment, "SERVER_WORKER": "loop"}, tmp_path / "log") as ours:
        servers = Servers(stock, ours, environment["TOKEN"])
        found = list(islice(servers.differences(EXAMPLES), 5))
    assert found == []


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_difference_is_found(
    environment: dict[str, str], stock: Serving, tmp_path: Path, planted: str
) -> None:
    (tmp_path / "planted.py").write_text(PROGRAM.format(planted=PLANTED[planted]))
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    with ExitStack() as stack:
        settings = {**environment, "PYTHONPATH": paths, "SERVER_WORKER": "loop"}
        ours = stack.enter_context(serving(settings, tmp_path / "log", "planted:app"))
        servers = Servers(stock, ours, environment["TOKEN"])
        assert next(servers.differences(5000), None) is not None
