"""Processes that crash in a running server are counted, and those that end as they should are not."""

import signal
import urllib.request
from pathlib import Path

import psutil
import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from tests.conftest import ENVIRONMENT, migrate
from tests.support.receiver import SECRET, Receiver
from tests.support.serving import Serving, serving
from tests.support.waiting import until

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("processes", ["1", "2"])
def test_what_crashed_and_was_started_again_is_counted(tmp_path: Path, processes: str) -> None:
    url = f"sqlite:///{tmp_path / 'directory.db'}"
    migrate(url)
    given = {"METRICS_ENABLED": "true", "RATELIMIT_ENABLED": "false", "WEB_CONCURRENCY": processes, "DATABASE_URL": url}
    with Receiver() as receiver:
        given |= {"WEBHOOK_URL": receiver.url, "WEBHOOK_SECRET": SECRET}
        with serving({**ENVIRONMENT, **given}, tmp_path / "log") as server:
            assert crashes(server) == {"worker": 0, "deliverer": 0}
            server.deliverer().kill()
            until(lambda: crashes(server) == {"worker": 0, "deliverer": 1})
            server.deliverer()  # until it has its name, the process that takes its place looks like a worker
            replaced(server, signal.SIGKILL)
            until(lambda: crashes(server) == {"worker": 1, "deliverer": 1})
            replaced(server, signal.SIGTERM)
            server.deliverer()
            server.wait_until_ready()
            assert crashes(server) == {"worker": 1, "deliverer": 1}

            before = server.workers()
            server.process.send_signal(signal.SIGHUP)
            psutil.wait_procs(before, 60)
            until(lambda: len(server.workers()) == int(processes))
            server.wait_until_ready()
            assert set(crashes(server).values()) == {0}


def crashes(server: Serving) -> dict[str, float]:
    """What a scrape says."""
    server.wait_until_ready()
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=30) as answer:
        families = parse(answer.read().decode())
    return {
        sample.labels["process"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "directory_crashes_total"
    }


def replaced(server: Serving, by: int) -> None:
    """End one worker by a signal, and wait for the one that takes its place."""
    before = server.workers()
    before[0].send_signal(by)
    psutil.wait_procs(before[:1], 60)
    until(lambda: len(server.workers()) == len(before))
