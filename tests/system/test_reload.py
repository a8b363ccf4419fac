"""SIGHUP: a running server takes all changed settings from its file, or none of them."""

import json
import logging
import re
import signal
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask

from directory.runtime.reload import Reload
from tests.conftest import ENVIRONMENT, migrate
from tests.support.serving import Serving, serving
from tests.support.waiting import until

pytestmark = pytest.mark.faults


class Reloading:
    """A server with a file of settings that can be changed, and what it shows of them."""

    def __init__(self, server: Serving, file: Path) -> None:
        self.server, self.file = server, file

    def reload(self, **settings: str) -> dict[str, Any]:
        """Write the file, send SIGHUP, and return the log line that says what came of it."""
        self.file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        before = len(self.outcomes())
        self.server.process.send_signal(signal.SIGHUP)
        until(lambda: len(self.outcomes()) > before)
        return self.outcomes()[-1]

    def lines(self) -> list[dict[str, Any]]:
        found = [line for line in self.server.log.read_text().splitlines() if line.startswith("{")]
        return [json.loads(line) for line in found]

    def outcomes(self) -> list[dict[str, Any]]:
        """The lines that end the reading of the file."""
        return [line for line in self.lines() if "reloaded" in line["message"]]

    def session(self) -> dict[str, Any]:
        """What an answer shows of the settings."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.server.port}/api/session", timeout=30) as answer:
            return json.loads(answer.read())  # type: ignore[no-any-return]

    def about(self) -> str:
        """A page of the operator's, or nothing."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.server.port}/about", timeout=30) as answer:
                return str(answer.read().decode())
        except urllib.error.HTTPError as error:
            return "" if error.code == 404 else f"status {error.code}"

    def name(self) -> str:
        return str(self.session()["site"]["name"])


@pytest.fixture
def reloading(tmp_path: Path) -> Any:
    """A server whose settings come from a file, but for the place of its database."""
    url, file = f"sqlite:///{tmp_path / 'directory.db'}", tmp_path / "settings"
    migrate(url)
    file.write_text("SITE_NAME=First\n")
    environment = {**ENVIRONMENT, "DATABASE_URL": url, "ENV_FILE": str(file), "FLASK_SKIP_DOTENV": ""}
    environment = {name: value for name, value in environment.items() if name != "LOG_LEVEL"}
    with serving(environment, tmp_path / "log") as server:
        yield Reloading(server, file)


def test_all_changed_settings_apply_and_a_removed_one_returns_to_its_default(reloading: Reloading) -> None:
    assert reloading.name() == "First"
    reloading.reload(SITE_NAME="Second", REGISTRATION_OPEN="false", READ_ONLY="true", THREADS="3", LOG_LEVEL="DEBUG")
    until(lambda: reloading.name() == "Second")
    session = reloading.session()
    assert (session["registration_open"], session["read_only"]) == (False, True)
    reloading.reload()
    until(lambda: reloading.name() == "Project Directory")
    session = reloading.session()
    assert (session["registration_open"], session["read_only"]) == (True, False)


def test_a_setting_that_makes_no_sense_leaves_all_as_they_are_and_is_logged_in_one_line(reloading: Reloading) -> None:
    line = reloading.reload(SITE_NAME="Second", LOG_LEVEL="nonsense")
    assert line["level"] == "error"
    assert line["message"].startswith("the settings are not reloaded, and the running ones stay: LOG_LEVEL: ")
    assert reloading.name() == "First"
    reloading.reload(SITE_NAME="Third")
    until(lambda: reloading.name() == "Third")


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_metric_says_that_the_last_reload_was_refused(tmp_path: Path, processes: str) -> None:
    url, file = f"sqlite:///{tmp_path / 'directory.db'}", tmp_path / "settings"
    migrate(url)
    given = {"METRICS_ENABLED": "true", "RATELIMIT_ENABLED": "false", "WEB_CONCURRENCY": processes}
    file.write_text("")
    environment = {**ENVIRONMENT, **given, "DATABASE_URL": url, "ENV_FILE": str(file), "FLASK_SKIP_DOTENV": ""}
    environment = {name: value for name, value in environment.items() if name != "LOG_LEVEL"}
    with serving(environment, tmp_path / "log") as server:
        reloading = Reloading(server, file)

        def refused() -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/metrics", timeout=30) as answer:
                return re.findall(r"^directory_reload_refused(?:\{.*\})? (\S+)$", answer.read().decode(), re.MULTILINE)[
                    0
                ]

        assert refused() == "0.0"
        reloading.reload(SITE_ACCENT="nonsense")
        until(lambda: refused() == "1.0")
        reloading.reload(SITE_NAME="Second")
        until(lambda: refused() == "0.0")


def test_a_changed_folder_of_the_site_applies_or_the_running_one_stays(reloading: Reloading, tmp_path: Path) -> None:
    (tmp_path / "site" / "pages").mkdir(parents=True)
    (tmp_path / "site" / "templates").mkdir()
    page, footer = tmp_path / "site" / "pages" / "about.md", tmp_path / "site" / "templates" / "_footer.html"
    page.write_text("# First title\n")
    folder = {"SITE_DIR": str(tmp_path / "site")}
    reloading.reload(**folder)
    until(lambda: "First title" in reloading.about())
    page.write_text("# Second title\n")
    footer.write_text("{{ site.name.nothing.at_all }}")
    line = reloading.reload(**folder)
    assert line["level"] == "error"
    assert re.search("SITE_DIR: .*_footer.html:1: ", line["message"])
    assert "First title" in reloading.about()
    footer.write_text("<footer>Of our own</footer>")
    reloading.reload(**folder)
    until(lambda: "Second title" in (shown := reloading.about()) and "Of our own" in shown)


def test_what_needs_a_restart_is_named_and_the_rest_applies(reloading: Reloading) -> None:
    reloading.server.process.poll()
    reloading.reload(SITE_NAME="Second", HOST="127.0.0.2")
    until(lambda: reloading.name() == "Second")
    assert "HOST changed: restart the server to apply it" in [line["message"] for line in reloading.lines()]


def test_the_sockets_and_the_database_stay_as_they_are_until_a_restart(caplog: pytest.LogCaptureFixture) -> None:
    reload, before = Reload(), {"HOST": "a", "PORT": 1, "SQLALCHEMY_DATABASE_URI": "x", "THREADS": 8}
    reload.begin(before)
    with patch("directory.runtime.reload.log", logging.getLogger("tests")):
        after = reload.settings(lambda: dict.fromkeys(before, "new"), lambda settings: Flask(str(settings["THREADS"])))
    assert after == {**before, "THREADS": "new"}
    assert caplog.messages == ["HOST, PORT, DATABASE_URL changed: restart the server to apply it"]


def test_a_deliverer_starts_and_ends_with_the_endpoints_of_the_settings(reloading: Reloading) -> None:
    reloading.reload(WEBHOOK_URL="https://here.example/", WEBHOOK_SECRET="whsec_" + "b2sh" * 8)
    deliverer = reloading.server.deliverer()
    reloading.reload()
    until(lambda: not deliverer.is_running())
