"""A new password of Redis, as docs/operations.md changes it, outlives a restart of Redis; the old one does not."""

import re
import socket
from collections.abc import Iterator

import pytest
import redis

from tests.support import servers
from tests.support.processes import Folder, Server, free_port
from tests.support.serving import ROOT

PAGE = (ROOT / "docs" / "operations.md").read_text()
OLD, NEW = "the-old-password", "the-new-password"

pytestmark = pytest.mark.redis


def accepts(server: Server, password: str) -> bool:
    with redis.Redis.from_url(server.url, password=password) as client:
        try:
            return bool(client.ping())
        except redis.AuthenticationError:
            return False


def listens(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), 2):
        return


@pytest.fixture
def server() -> Iterator[Server]:
    """A Redis with a file of settings, as Debian's package has one."""
    with servers.or_skip():
        program = servers.redis_program()
    folder, port = Folder("redis"), free_port()
    file = folder.path / "redis.conf"
    file.write_text(f'port {port}\nbind 127.0.0.1\nsave ""\ndir {folder.path}\nrequirepass {OLD}\n')
    made = Server(f"redis://127.0.0.1:{port}/0", [program, file], folder, lambda: listens(port))
    with servers.started(made):
        yield made


def commands() -> list[list[str]]:
    """What the page gives to redis-cli: in the first step, and in the last."""
    section = PAGE.partition("\n### The password of Redis\n")[2].partition("\n## ")[0]
    typed = re.findall(r"redis-cli <<END\n(.*?)\nEND", section, re.S)
    return [each.replace("$new", NEW).splitlines() for each in typed]


def test_a_new_password_outlives_a_restart_and_the_old_one_does_not(server: Server) -> None:
    first, last = commands()
    for typed, password, accepted in ((first, OLD, [True, True]), (last, NEW, [False, True])):
        with redis.Redis.from_url(server.url, password=password) as client:
            for line in typed:
                assert client.execute_command(*line.split())
        assert [accepts(server, each) for each in (OLD, NEW)] == accepted
        server.stop()
        server.start()
        assert [accepts(server, each) for each in (OLD, NEW)] == accepted
