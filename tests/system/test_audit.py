"""Pinned packages are checked for known vulnerabilities where an index lists them; else `make check` goes on."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.support.processes import free_port
from tests.support.serving import ROOT

KNOWN = {"id": "PYSEC-2020-1", "modified": "2020-01-01T00:00:00Z", "summary": "It is open.", "affected": []}
NOT_DONE = "Known vulnerabilities were not looked up: "


class Service(ThreadingHTTPServer):
    """Stands for the package index, and for a service that is asked about one package after the other."""

    daemon_threads = True
    status, page, bad = 200, b'{"vulnerabilities": []}', ""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.asked: set[str] = set()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def about(self, question: Any) -> Any:
        """What is known of a package."""
        self.asked.add(question["package"]["name"])
        return {"vulns": [KNOWN]} if question["package"]["name"] == self.bad else {}


class Answering(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self._answer(self.server.status, self.server.page)

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(200, json.dumps(self.server.about(question)).encode())

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as service:
        yield service
        service.shutdown()


def audit(url: str, *arguments: object) -> tuple[int, str]:
    """The exit status, and what was said."""
    command = [sys.executable, ROOT / ".ci" / "audit.py", url, *arguments]
    environ = {**os.environ, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    ran = subprocess.run([*map(str, command)], env=environ, capture_output=True, text=True, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


@pytest.mark.parametrize("bad", ["", "flask"])
def test_a_known_vulnerability_fails_and_nothing_else_does(service: Service, tmp_path: Path, bad: str) -> None:
    service.bad = bad
    status, said = audit(service.url, "-s", "osv", "--osv-url", service.url, "--cache-dir", tmp_path)
    assert {"flask", "gunicorn", "sqlalchemy"} <= service.asked
    assert (status, KNOWN["id"] in said, NOT_DONE in said) == (bool(bad), bool(bad), False)


@pytest.mark.parametrize(
    ("status", "page"), [(404, b""), (503, b"{}"), (200, b"<html>Sign in"), (200, b'{"info": {}}')]
)
def test_a_mirror_without_vulnerabilities_fails_nothing_and_is_reported(
    service: Service, status: int, page: bytes
) -> None:
    service.status, service.page = status, page
    ended, said = audit(service.url)
    assert (ended, said.count("\n")) == (0, 1)
    assert said.startswith(f"{NOT_DONE}{service.url}/pypi/")


def test_the_index_is_the_one_that_pip_is_configured_with(service: Service) -> None:
    service.status = 404
    command = [sys.executable, str(ROOT / ".ci" / "audit.py")]
    environ = {
        **os.environ,
        "PIP_INDEX_URL": f"{service.url}/simple/",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }
    ran = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith(f"{NOT_DONE}{service.url}/pypi/")


def test_no_registry_is_named_in_the_repository() -> None:
    hosts = "|".join([r"pypi\.[o]rg", r"registry\.[n]pmjs", r"deb\.[d]ebian"])  # which do not match themselves
    found = subprocess.run(["git", "grep", "-nE", hosts], cwd=ROOT, capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (1, "")


def test_without_a_network_nothing_fails_and_a_line_says_so() -> None:
    ended, said = audit(f"http://127.0.0.1:{free_port()}")
    assert (ended, said.count("\n"), said.startswith(NOT_DONE)) == (0, 1, True)


def test_a_service_that_never_ends_its_answer_is_given_up(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    def drip(answering: Answering) -> None:
        answering.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(600):
            answering.wfile.write(b"X: y\r\n")
            time.sleep(0.1)

    monkeypatch.setattr(Answering, "do_GET", drip)
    ended, said = audit(service.url)
    assert (ended, said) == (0, f"{NOT_DONE}{service.url} does not answer within 4 s.\n")


def test_it_is_a_part_of_the_one_command() -> None:
    recipe = (ROOT / "Makefile").read_text().partition("\ncheck:")[2].partition("\n\n")[0]
    assert "$(BIN)/python .ci/audit.py" in recipe
