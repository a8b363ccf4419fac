"""The deliverer as a process: its end, and its life next to gunicorn. One database will do for that."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from flask import Flask

from tests.conftest import ENVIRONMENT, build, migrate
from tests.support.outbox import endpoint, put
from tests.support.receiver import SECRET, Receiver
from tests.support.serving import ROOT, WITHIN, Serving, serving

pytestmark = pytest.mark.faults


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    url = f"sqlite:///{tmp_path / 'directory.db'}"
    migrate(url)
    return {**ENVIRONMENT, "DATABASE_URL": url, "LOG_LEVEL": "INFO"}


def sending_to(receiver: Receiver) -> dict[str, str]:
    return {"WEBHOOK_URL": receiver.url, "WEBHOOK_SECRET": SECRET}


def enqueue(app: Flask, receiver: Receiver) -> None:
    with app.app_context():
        put(endpoint(receiver.url))


ENDS: list[Callable[[Any], Any]] = [
    lambda process: process.send_signal(signal.SIGTERM),
    lambda process: process.send_signal(signal.SIGINT),
    lambda process: process.stdin.close(),
]


@pytest.mark.parametrize("end", ENDS, ids=["SIGTERM", "SIGINT", "the end of its input"])
def test_the_deliverer_stops_in_good_order_at(end: Callable[[Any], Any], settings: dict[str, str]) -> None:
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "webhooks", "work", "--until-eof"]
    with Receiver() as receiver:
        enqueue(build(settings["DATABASE_URL"]), receiver)
        given = {**os.environ, **settings, **sending_to(receiver)}
        with subprocess.Popen(command, cwd=ROOT, env=given, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            receiver.wait(lambda r: len(r.received) == 1)
            end(process)
            assert process.wait(WITHIN) == 0
            assert process.stderr is not None
            lines = [json.loads(line) for line in process.stderr.read().splitlines()]

    assert [(line["message"], line.get("status")) for line in lines] == [
        ("webhooks are delivered", None),
        ("webhook delivered", 200),
    ]


def test_the_deliverer_beside_the_server_is_started_again_and_dies_with_it(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with Receiver() as receiver, serving({**settings, **sending_to(receiver)}, tmp_path / "log") as server:
        first = server.deliverer()
        first.kill()
        enqueue(build(settings["DATABASE_URL"]), receiver)
        receiver.wait(lambda r: len(r.received) == 1)
        second = server.deliverer()
        assert second.pid != first.pid
        assert [c for c in second.net_connections() if c.status == psutil.CONN_LISTEN] == []

        family = server.stop(signal.SIGKILL)
        _, alive = psutil.wait_procs([second, *family], WITHIN)
        assert alive == []


def test_a_server_that_is_stopped_stops_its_deliverer_and_logs_json_alone(
    settings: dict[str, str], tmp_path: Path
) -> None:
    with Receiver() as receiver, serving({**settings, **sending_to(receiver)}, tmp_path / "log") as server:
        deliverer = server.deliverer()
        enqueue(build(settings["DATABASE_URL"]), receiver)
        receiver.wait(lambda r: len(r.received) == 1)
        server.stop()
        assert not deliverer.is_running()

    lines = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert {"gunicorn.error", "directory.services.delivery.deliverer"} <= {line["logger"] for line in lines}
    assert not [line for line in lines if line["logger"] == "gunicorn.access"]


def test_a_reload_keeps_serving_and_gives_the_deliverer_a_fresh_start(settings: dict[str, str], tmp_path: Path) -> None:
    with Receiver() as receiver, serving({**settings, **sending_to(receiver)}, tmp_path / "log") as server:
        enqueue(build(settings["DATABASE_URL"]), receiver)
        receiver.wait(lambda r: len(r.received) == 1)
        first = server.deliverer()
        server.process.send_signal(signal.SIGHUP)
        psutil.wait_procs([first], WITHIN)
        enqueue(build(settings["DATABASE_URL"]), receiver)
        receiver.wait(lambda r: len(r.received) == 2)
        assert server.request("GET", "/healthz") == 200


def test_a_setting_that_makes_no_sense_is_one_line_and_the_end(settings: dict[str, str], tmp_path: Path) -> None:
    server = Serving({**settings, "WEB_CONCURRENCY": "3", "RATELIMIT_ENABLED": "true"}, tmp_path / "log")

    assert server.process.wait(WITHIN) == 1
    [line] = (tmp_path / "log").read_text().splitlines()
    assert line.startswith("WEB_CONCURRENCY: several processes need REDIS_URL")
