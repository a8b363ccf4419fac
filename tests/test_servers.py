"""The tests' own servers leave nothing behind, whatever ends the tests."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests import servers

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_ends_with_whoever_started_it(ending):
    command = [sys.executable, "-m", "tests.servers", "--redis"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as owner:
        assert owner.stdout.readline().startswith("redis://")
        family = psutil.Process(owner.pid).children(recursive=True)
        folder = Path(next(process.cwd() for process in family if process.name() == "redis-server"))
        owner.send_signal(ending)
    _, alive = psutil.wait_procs(family, timeout=10)
    assert alive == []
    assert not folder.exists()


def test_a_frozen_server_is_silent_until_it_thaws():
    try:
        server = servers.redis(own=True)
    except servers.ServerMissing as missing:
        pytest.skip(str(missing))
    with server:
        port = int(server.url.rsplit(":")[-1].split("/")[0])
        server.pause()
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            servers.ping(port, timeout=0.2)
        assert time.monotonic() - started < 2
        server.resume()
        servers.ping(port, timeout=5)
