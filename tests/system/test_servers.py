"""The tests' own servers leave nothing behind, whatever ends the tests, and none is skipped that should be there."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from bench.__main__ import DURABLE
from tests.support import servers
from tests.support.processes import PORTS, Folder, ServerFailed, ServerMissing, free_port

ROOT = Path(__file__).resolve().parents[2]


COLLECTING = """
import os, pytest
from tests.support import servers
servers.share = lambda variable, server: os._exit(9)
os._exit(pytest.main(["--collect-only", "-q", "-p", "no:cacheprovider", "tests/services/test_voting.py"]))
"""


def port_of(server):
    return int(server.url.rsplit(":")[-1].split("/")[0])


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_ends_with_the_process_that_started_it(ending):
    command = [sys.executable, "-m", "tests.support.servers", "--redis"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout.readline().startswith("redis://")
        family = psutil.Process(owner.pid).children(recursive=True)
        folder = Path(next(process.cwd() for process in family if process.name() == "redis-server"))
        owner.send_signal(ending)
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    assert not folder.exists()


def test_no_server_starts_before_a_test_asks_for_it(tmp_path):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("TEST_", "PYTEST_"))}
    command = [sys.executable, "-c", COLLECTING]
    collected = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert collected.returncode == 0, collected.stdout


def test_a_frozen_server_is_silent_until_it_thaws():
    with servers.or_skip():
        server = servers.redis()
    with server:
        port = port_of(server)
        server.pause()
        with pytest.raises(TimeoutError):
            servers.ping(port, timeout=0.2)
        server.resume()
        servers.ping(port, timeout=5)


def test_a_server_has_the_settings_that_it_is_given():
    with servers.or_skip():
        server = servers.postgresql(**DURABLE)
    with server, servers.connect(server.url) as connection:
        seen = {name: connection.execute(f"SHOW {name}").fetchone()[0] for name in DURABLE}
    assert seen == DURABLE


def test_no_two_processes_are_given_one_port():
    mine = {free_port() for _ in range(PORTS)}
    command = "from tests.support.processes import *; print([free_port() for _ in range(PORTS)])"
    theirs = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    assert mine.isdisjoint(json.loads(theirs))
    taken = free_port()
    with socket.create_server(("127.0.0.1", taken)):
        assert taken not in {free_port() for _ in range(PORTS)}


def missing():
    with servers.or_skip():
        raise ServerMissing("no such server here")


def test_what_is_missing_is_skipped(monkeypatch):
    monkeypatch.delenv("REQUIRE_SERVERS", raising=False)
    with pytest.raises(pytest.skip.Exception, match="no such server here"):
        missing()


def test_what_is_missing_fails_where_servers_are_required(monkeypatch):
    monkeypatch.setenv("REQUIRE_SERVERS", "1")
    with pytest.raises(ServerMissing):
        missing()


def test_a_server_that_does_not_come_back_fails_wherever_it_is(monkeypatch):
    monkeypatch.delenv("REQUIRE_SERVERS", raising=False)
    with servers.or_skip():
        server = servers.redis()
    with server, socket.socket() as other:
        server.stop(signal.SIGKILL)
        other.bind(("127.0.0.1", port_of(server)))
        with pytest.raises(ServerFailed, match="redis-server did not start"), servers.or_skip():
            server.start()


def test_a_program_that_is_there_and_fails_is_not_taken_for_a_missing_one():
    folder = Folder("failing")
    try:
        with pytest.raises(ServerFailed, match="/bin/sh failed"):
            folder.run("/bin/sh", "-c", "exit 3")
        with pytest.raises(ServerMissing, match="cannot be run"):
            folder.run(folder.path / "nothing")
        (folder.path / "initdb").write_text("")
        with pytest.raises(ServerMissing, match="cannot be run"):
            folder.run(folder.path / "initdb")
    finally:
        folder.remove()


def test_programs_that_the_user_cannot_run_are_copied_to_a_readable_folder(monkeypatch):
    folder = Folder("failing")
    monkeypatch.setattr(folder, "_copy", lambda programs: programs / "copied")
    try:
        assert folder.readable(folder.path) == folder.path / "copied"
        (folder.path / "initdb").write_text("#!/bin/sh\nexit 127\n")
        (folder.path / "initdb").chmod(0o755)
        assert folder.readable(folder.path) == folder.path / "copied"
        (folder.path / "initdb").write_text("#!/bin/sh\n")
        assert folder.readable(folder.path) == folder.path
    finally:
        folder.remove()
