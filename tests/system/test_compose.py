"""compose.yaml: its services, held against the settings, the image and the Caddyfile, and run without containers."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from itertools import takewhile
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from flask import Flask

import config
from tests.support import servers
from tests.support.caddy import CADDYFILE, Caddy
from tests.support.processes import free_port
from tests.support.receiver import SECRET, Receiver
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "compose.yaml").read_text()
COMPOSE = yaml.safe_load(TEXT)
SERVICES = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if service["image"] == "project-directory"}
IMAGE = (ROOT / "Containerfile").read_text()
PAGE = (ROOT / "docs" / "deploy.md").read_text()


def settings_of(service: dict[str, Any]) -> dict[str, str]:
    """A service's environment over the image's, each variable of compose by its default."""
    built_in = dict(re.findall(r"([A-Z_]+)=(\S+)", re.findall(r"^ENV (.*)", IMAGE, re.M)[0]))
    given = {name: re.sub(r"\$\{\w+:-(.*)\}", r"\1", value) for name, value in service.get("environment", {}).items()}
    return {**built_in, **given}


def test_compose_itself_accepts_the_file() -> None:
    with servers.or_skip():
        program = servers.debian_program("docker-compose", "docker-compose")
    profiles = ("--profile", "webhooks", "--profile", "monitoring")
    command = [str(program), "--file", str(ROOT / "compose.yaml"), *profiles, "config"]
    ran = subprocess.run(command, capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": "/"})
    assert (ran.returncode, ran.stderr) == (0, "")
    assert set(yaml.safe_load(ran.stdout)["services"]) == set(SERVICES)


def test_the_page_gives_compose_commands_and_services_that_there_are() -> None:
    with servers.or_skip():
        program = servers.debian_program("docker-compose", "docker-compose")
    typed = re.findall(r"^(?:\(umask 077; )?docker compose (\w+) (.*)$", PAGE, re.M)
    assert {command for command, _ in typed} == {"up", "run", "exec", "stop"}
    for command in ("up", "run", "exec", "stop"):
        known = subprocess.run([program, command, "--help"], capture_output=True, text=True, check=True).stdout
        used = [words.split() for name, words in typed if name == command]
        assert {word for words in used for word in _options(words)} <= set(re.findall(r"(?<!\w)--?[\w-]+", known))
        assert command == "up" or {_service(words) for words in used} <= set(SERVICES)


def _options(words: list[str]) -> list[str]:
    """The options before the service."""
    return list(takewhile(lambda word: word.startswith("-"), words))


def _service(words: list[str]) -> str:
    return words[len(_options(words))]


def test_its_variables_are_our_settings_and_each_that_can_be_set_is_explained() -> None:
    given = {name for service in OURS.values() for name in service.get("environment", {})}
    assert given <= config.DECLARED.keys()
    free = set(re.findall(r"\$\{(\w+)", TEXT))
    explained = {name for cell in re.findall(r"^\| (`.*?) \|", PAGE, re.M) for name in re.findall(r"`(\w+)`", cell)}
    assert free | {"COMPOSE_PROFILES"} == explained


@pytest.fixture
def secrets(tmp_path: Path) -> dict[str, str]:
    """The settings that the first start makes, in a folder that stands for the volume."""
    [program, option], [script] = SERVICES["secrets"]["entrypoint"], SERVICES["secrets"]["command"]
    assert (program, option) == ("python3", "-c")
    assert "$" not in script  # compose would take it for a variable
    made = []
    for _ in range(2):  # a second start leaves them as they are
        subprocess.run([sys.executable, option, script], cwd=tmp_path, check=True)
        made.append({path.name: path.read_text() for path in tmp_path.iterdir()})
    assert made[0] == made[1]
    assert set(made[0]) == {".env", "postgres_password"}
    settings = dict(line.split("=", 1) for line in made[0][".env"].splitlines())
    assert f":{made[0]['postgres_password']}@postgres/" in settings["DATABASE_URL"]
    return settings


def test_the_services_settings_and_the_generated_secrets_make_a_configuration(secrets: dict[str, str]) -> None:
    loaded = config.load({**secrets, **settings_of(SERVICES["directory"])})
    assert (loaded["APP_ENV"], loaded["TRUSTED_PROXIES"], loaded["WEBHOOK_WORKER"]) == ("production", 1, False)
    assert loaded["HOST"] == "0.0.0.0"
    user, database = SERVICES["postgres"]["environment"]["POSTGRES_USER"], "directory"
    assert re.fullmatch(rf"postgresql\+psycopg://{user}:\w+@postgres/{database}", loaded["SQLALCHEMY_DATABASE_URI"])
    assert SERVICES["postgres"]["environment"]["POSTGRES_DB"] == database
    assert loaded["REDIS_URL"].startswith("redis://redis:")
    assert len(loaded["SECRET_KEY"]) == 64


def test_the_folder_of_the_site_is_mounted_where_its_settings_expect_it(
    secrets: dict[str, str], tmp_path: Path
) -> None:
    [snippet] = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "site.md").read_text(), re.S)
    service = yaml.safe_load(snippet)["services"]["directory"]
    [volume], environment = service["volumes"], service["environment"]
    source, target, mode = volume.split(":")
    assert (source, target, mode) == ("./site", environment["SITE_DIR"], "ro")
    (tmp_path / "logo.svg").write_text("<svg />")
    given = {name: value.replace(target, str(tmp_path), 1) for name, value in environment.items()}
    loaded = config.load({**secrets, **settings_of(SERVICES["directory"]), **given})
    assert loaded["SITE_DIR"] == str(tmp_path)


def test_every_service_waits_for_what_it_needs() -> None:
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert SERVICES[needed]["healthcheck"]["test"][0] == "CMD", f"{name} waits for {needed}"
            else:
                assert (how["condition"], needed) == ("service_completed_successfully", "secrets")
    assert set(SERVICES["directory"]["depends_on"]) == {"secrets", "postgres", "redis"}
    assert set(OURS) == {"secrets", "directory", "deliverer"}


def test_the_services_of_our_image_may_do_little_and_name_commands_that_exist(app: Flask) -> None:
    for service in OURS.values():
        assert (service["read_only"], service["cap_drop"], "ports" in service) == (True, ["ALL"], False)
    found: Any = app.cli
    for word in SERVICES["deliverer"]["command"]:
        found = found.get_command(click.Context(found), word)
    assert isinstance(found, click.Command)


def test_health_checks_and_ports_agree_with_the_image() -> None:
    [check] = re.findall(r"CMD (\[.*\])\nENTRYPOINT", IMAGE)
    assert ["CMD", *yaml.safe_load(check)] == SERVICES["directory"]["healthcheck"]["test"]
    [port] = re.findall(r"^EXPOSE (\d+)", IMAGE, re.M)
    assert settings_of(SERVICES["directory"])["PORT"] == port
    assert f"reverse_proxy directory:{port} " in CADDYFILE
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"proxy", "grafana"}
    assert all(port.startswith("127.0.0.1:") for port in SERVICES["grafana"]["ports"])


def test_every_volume_is_declared_or_a_file_of_the_checkout() -> None:
    named = set()
    for service in SERVICES.values():
        for source in (volume.partition(":")[0] for volume in service.get("volumes", [])):
            if source.startswith("./"):
                assert (ROOT / source).exists()
            else:
                named.add(source)
    assert named == set(COMPOSE["volumes"])


@contextmanager
def running(name: str, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A service's command as a process of the checkout, while the block runs."""
    [(program, place)] = re.findall(r'^ENTRYPOINT \["(\w+)", "(\S+)"\]', IMAGE, re.M)
    assert (program, place) == ("python3", "/app/project_directory")
    command = SERVICES[name].get("command") or yaml.safe_load(re.findall(r"^CMD (\[.*)", IMAGE, re.M)[0])
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, str(ROOT), *command], cwd=folder, env=environment, stdout=log, stderr=log
        )
    try:
        yield
    except AssertionError as failed:
        raise AssertionError((folder / f"{name}.log").read_text()) from failed
    finally:
        process.terminate()
        process.wait(60)


class Site:
    """The services, each by its command and settings of compose.yaml, at ports of here, and Caddy before them."""

    def __init__(self, folder: Path, secrets: dict[str, str], receiver: Receiver, stack: ExitStack) -> None:
        self.folder = folder
        with servers.or_skip():
            server, redis = servers.url_of(servers.DATABASE), servers.url_of(servers.REDIS)
            database = servers.create_database(server, "compose")
            stack.callback(servers.drop_database, server, "compose")
            port = free_port()
            self.caddy = stack.enter_context(closing(Caddy(port)))
        endpoints = [{"name": "one", "url": receiver.url, "secret": SECRET}]
        here = {
            # What the volume has in .env, which is read next to the package; the test of the image does that.
            **secrets,
            "DATABASE_URL": database,
            "FLASK_SKIP_DOTENV": "1",
            "PATH": os.defpath,
            "PORT": str(port),
            "REDIS_URL": redis,
            "SITE_URL": self.caddy.url,
            "WEBHOOK_ENDPOINTS": json.dumps(endpoints),
        }
        self.environments: dict[str, dict[str, str]] = {}
        self._cookie: list[str] = []
        for name in ("directory", "deliverer"):
            given = {key: value for key, value in settings_of(SERVICES[name]).items() if key != "PYTHONPATH"}
            self.environments[name] = {**given, **here}
            stack.enter_context(running(name, folder, self.environments[name]))
            until(self.is_healthy, 120)  # compose starts the deliverer only then

    def is_healthy(self) -> bool:
        """What the health check of compose says."""
        _, _, *command = SERVICES["directory"]["healthcheck"]["test"]
        command = [sys.executable, *command]
        return subprocess.run(command, env=self.environments["directory"], stderr=subprocess.DEVNULL).returncode == 0

    def ask(self, method: str, path: str, body: dict[str, str] | None = None) -> tuple[int, Any]:
        """The status and the JSON of an answer through Caddy, asked for as the site's own page asks."""
        sent = json.dumps(body) if body else ""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.caddy.url.removeprefix('https://')}", *self._cookie]
        lines += [f"Origin: {self.caddy.url}"] if method != "GET" else []
        lines += ["Content-Type: application/json", f"Content-Length: {len(sent)}"] if body else []
        status, headers, answer = self.caddy.call("\n".join(lines), sent)
        if "set-cookie" in headers:
            self._cookie = [f"Cookie: {headers['set-cookie'].partition(';')[0]}"]
        return status, json.loads(answer)


@pytest.mark.slow
def test_the_services_work_together_as_processes(tmp_path: Path, secrets: dict[str, str]) -> None:
    with Receiver() as receiver, ExitStack() as stack:
        site = Site(tmp_path, secrets, receiver, stack)
        account = {"username": "grace", "email": "grace@example.org", "password": "nine blue paper boats"}
        [typed] = re.findall(r"^docker compose run --rm directory (users .*)$", PAGE, re.M)
        command = [sys.executable, str(ROOT), *typed.split(), *(f"--{name}={value}" for name, value in account.items())]
        subprocess.run(command, cwd=tmp_path, env=site.environments["directory"], check=True)
        assert site.ask("POST", "/api/auth/login", {"login": "grace", "password": account["password"]})[0] == 200
        assert site.ask("POST", "/api/admin/categories", {"slug": "boats", "name": "Boats"})[0] == 201
        project = {"title": "Paper boats", "tagline": "Boats", "url": "https://example.org", "category": "boats"}
        status, made = site.ask("POST", "/api/projects", project)
        assert status == 201, made
        assert site.ask("PUT", f"/api/admin/projects/{made['id']}/approve")[0] == 200
        until(lambda: receiver.received, 120)
        assert receiver.received[0].verified()["type"] == "project.approved"
        assert site.ask("GET", "/api/projects")[1]["pagination"]["total"] == 1
        assert site.ask("GET", "/metrics")[0] == 404
