"""The start: what is checked before gunicorn, where settings come from, and what a terminal shows."""

import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import ENVIRONMENT
from tests.support.processes import free_port
from tests.support.serving import ROOT, WITHIN, serving
from tests.support.terminal import Terminal

SERVE = [sys.executable, "serve.py"]
FLASK = [sys.executable, "-m", "flask"]
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    """Those of a server over a SQLite file, which is not there yet."""
    database = f"sqlite:///{tmp_path / 'served.db'}"
    return {**ENVIRONMENT, "APP_ENV": "development", "LOG_LEVEL": "INFO", "DATABASE_URL": database}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what runs, for a `.env` in its folder."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("config.py", "serve.py", "wsgi.py", "gunicorn.conf.py"):
        shutil.copy2(ROOT / name, folder)
    for name in ("settings", "directory", "migrations"):
        shutil.copytree(ROOT / name, folder / name)
    return folder


def environment(**settings: str) -> dict[str, str]:
    """The settings and what a program needs to run at all; a `.env` is read."""
    return {"PATH": os.environ["PATH"], **settings}


def run(command: list[str], folder: Path = ROOT, **settings: str) -> subprocess.CompletedProcess[str]:
    environ = environment(**settings)
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, timeout=WITHIN)


def refusal(**settings: str) -> str:
    """All that a start prints that comes to nothing."""
    ended = run(SERVE, FLASK_SKIP_DOTENV="1", **settings)
    assert (ended.returncode, ended.stdout) == (1, "")
    return ended.stderr


def test_a_taken_port_is_one_line_that_names_it(settings: dict[str, str]) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as taken:
        port = taken.getsockname()[1]
        line = f"PORT: {port} is taken on 127.0.0.1: stop what listens there, or set another port\n"
        assert refusal(**settings, PORT=str(port)) == line


def test_a_host_that_is_not_of_this_machine_is_one_line_that_names_it(settings: dict[str, str]) -> None:
    assert re.fullmatch(r"HOST: '192\.0\.2\.1' cannot be listened on: .+\n", refusal(**settings, HOST="192.0.2.1"))
    assert re.fullmatch(r"HOST: 'no\.invalid' cannot be listened on: .+\n", refusal(**settings, HOST="no.invalid"))


@pytest.mark.parametrize("value", ["lots", "1.5", "-1", "0", "65"])
def test_a_number_of_processes_that_is_none_is_one_line_that_names_it(settings: dict[str, str], value: str) -> None:
    line = f"WEB_CONCURRENCY: {value!r} is not a whole number from 1 to 64\n"
    assert refusal(**settings, WEB_CONCURRENCY=value) == line


@pytest.mark.parametrize("value", ["", "  "])
def test_a_number_of_processes_that_is_empty_is_as_if_unset(
    settings: dict[str, str], value: str, tmp_path: Path
) -> None:
    with serving({**settings, "WEB_CONCURRENCY": value}, tmp_path / "log") as server:
        assert len(server.workers()) == 1


def test_the_server_and_the_commands_read_the_same_env_file(checkout: Path, settings: dict[str, str]) -> None:
    port = free_port()
    said = {**settings, "PORT": str(port), "PREPARE_DATABASE": "true", "SITE_NAME": "Ours"}
    (checkout / ".env").write_text("".join(f"{name}='{value}'\n" for name, value in said.items()))
    with Terminal(SERVE, environment(), checkout) as terminal:
        terminal.wait_for("Press Ctrl-C")
        assert f"Ours is ready:\n  Site    http://127.0.0.1:{port}/\n" in terminal.shown
    created = run(
        [*FLASK, "users", "create-admin", "--username", "ada", "--email", "ada@x.example", "--password", "blue paper"],
        checkout,
    )
    assert created.stderr == f"Database: {settings['DATABASE_URL']}\n"
    assert created.stdout == "ada is an administrator now.\n"


def test_what_the_environment_says_wins_over_the_env_file(checkout: Path, settings: dict[str, str]) -> None:
    (checkout / ".env").write_text(f"DATABASE_URL='{settings['DATABASE_URL']}'\nSECRET_KEY={'k' * 40}\n")
    other = f"{settings['DATABASE_URL']}.other"
    assert run([*FLASK, "db", "upgrade"], checkout).stderr.startswith(f"Database: {settings['DATABASE_URL']}\n")
    assert run([*FLASK, "db", "upgrade"], checkout, DATABASE_URL=other).stderr.startswith(f"Database: {other}\n")
    assert Path(other.removeprefix("sqlite:///")).exists()


def test_a_terminal_shows_a_start_for_people_with_the_addresses_last(settings: dict[str, str]) -> None:
    port = free_port()
    environ = environment(**settings, PREPARE_DATABASE="true", PORT=str(port), FLASK_SKIP_DOTENV="1")
    with Terminal(SERVE, environ, ROOT) as terminal:
        terminal.wait_for("Press Ctrl-C to stop.\n")
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/api/nowhere")
        assert connection.getresponse().status == 404
        connection.close()
        terminal.wait_for("/api/nowhere")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.end() == 0
    uncoloured = COLOUR.sub("", terminal.shown)
    log, _, rest = uncoloured.partition("Seeded ")
    assert [line[9:] for line in log.splitlines() if "migrat" in line] == [
        f"INFO    migrating database={settings['DATABASE_URL']}",
        f"INFO    migrated database={settings['DATABASE_URL']} revision={newest()}",
    ]
    assert all(re.match(r"\d\d:\d\d:\d\d [A-Z]+ +\S", line) for line in log.splitlines())
    told, _, later = rest.partition("Press Ctrl-C to stop.\n")
    addresses = [f"http://127.0.0.1:{port}{path}" for path in ("/", "/admin", "/api/docs", "/api/projects.atom")]
    assert re.findall(r"http://\S+", told) == addresses
    assert told.index("Passwords are random") < told.index("Project Directory is ready")
    assert re.search(r"INFO    GET /api/nowhere 404 [0-9.]+ ms\n", later)
    assert "Shutting down" in later
    assert "\x1b[33m404\x1b[0m" in terminal.shown


def newest() -> str:
    return max(path.name[:4] for path in (ROOT / "migrations" / "versions").glob("[0-9]*.py"))


def test_a_terminal_without_colours_and_one_with_json(settings: dict[str, str]) -> None:
    for extra, form in ({"NO_COLOR": "1"}, r"\d\d:\d\d:\d\d [A-Z]+ "), ({"LOG_FORMAT": "json"}, r'{"time":'):
        environ = environment(**settings, PORT=str(free_port()), FLASK_SKIP_DOTENV="1", **extra)
        with Terminal(SERVE, environ, ROOT) as terminal:
            terminal.wait_for("Booting worker")
        assert "\x1b" not in terminal.shown
        assert re.match(form, terminal.shown)
        assert ("Press Ctrl-C" in terminal.shown) == ("NO_COLOR" in extra)


def test_a_redis_that_is_missing_is_logged_before_any_request_is_counted(
    settings: dict[str, str], tmp_path: Path
) -> None:
    redis = f"redis://127.0.0.1:{free_port()}/0"
    limits = {"REDIS_URL": redis, "RATELIMIT_ENABLED": "true", "WEB_CONCURRENCY": "1"}
    with serving({**settings, **limits}, tmp_path / "log") as server:
        give_up = time.monotonic() + WITHIN
        while "Redis does not answer" not in server.log.read_text():
            assert time.monotonic() < give_up, server.log.read_text()
            time.sleep(0.02)
    assert server.log.read_text().count("Redis does not answer") == 1


def test_the_flask_command_offers_our_commands_and_not_a_librarys(settings: dict[str, str]) -> None:
    listed = re.findall(r"^  ([a-z]+)  ", run([*FLASK, "--help"], FLASK_SKIP_DOTENV="1", **settings).stdout, re.M)
    assert {"db", "run", "seed", "users"} <= set(listed)
    assert "limiter" not in listed


def test_the_development_server_puts_no_colour_codes_into_json(settings: dict[str, str], tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    with log.open("wb") as output:
        environ = environment(**settings, FLASK_SKIP_DOTENV="1")
        server = subprocess.Popen([*FLASK, "run", "-p", str(port)], cwd=ROOT, env=environ, stdout=output, stderr=output)
    try:
        give_up = time.monotonic() + WITHIN
        while "/api/nowhere HTTP" not in log.read_text():
            assert time.monotonic() < give_up, log.read_text()
            time.sleep(0.05)
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
                connection.request("GET", "/api/nowhere")
                connection.getresponse().read()
                connection.close()
            except OSError:
                continue
    finally:
        server.terminate()
        server.wait(WITHIN)
    assert "development server" in log.read_text()
    assert "u001b" not in log.read_text()
    assert "\x1b" not in log.read_text()


def test_the_start_says_once_what_is_off_and_which_name_is_not_a_setting(
    settings: dict[str, str], tmp_path: Path
) -> None:
    given = {"APP_ENV": "production", "SITE_ACENT": "#123456", "LOG_FORMAT": "text", "PREPARE_DATABASE": "true"}
    with serving({**settings, **given}, tmp_path / "log") as server:
        said = server.log.read_text()
    assert said.count("SITE_ACENT is not a setting, so nothing reads it; the nearest is SITE_ACCENT") == 1
    assert said.count("SITE_URL is not set: passkeys and the sitemap are off") == 1
