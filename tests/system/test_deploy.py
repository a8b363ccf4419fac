"""The production form says what is so: the units, the example of the environment, and the page that leads there."""

import configparser
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from flask import Flask

import config
from directory.services import build
from tests.api.test_system import over
from tests.conftest import PostgresqlDatabase, migrate
from tests.support import servers
from tests.support.factories import World

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "deploy.md").read_text()
UNITS = ("directory", "directory-deliverer")
CURRENT, ENVIRONMENT = "/opt/directory/current", "/etc/directory/environment"
CLOSED = (
    "LockPersonality MemoryDenyWriteExecute NoNewPrivileges PrivateDevices PrivateTmp PrivateUsers ProtectClock "
    "ProtectControlGroups ProtectHome ProtectHostname ProtectKernelLogs ProtectKernelModules ProtectKernelTunables "
    "RestrictNamespaces RestrictRealtime RestrictSUIDSGID"
)


def unit(name: str) -> configparser.RawConfigParser:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read(DEPLOY / f"{name}.service")
    return parser


def environment() -> dict[str, str]:
    """The example, as systemd reads it."""
    lines = [line for line in (DEPLOY / "environment").read_text().splitlines() if line and line[0] != "#"]
    return {name: shlex.split(value)[0] if value else "" for name, _, value in (line.partition("=") for line in lines)}


def blocks() -> list[str]:
    """What the page has to be typed."""
    return re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)


@pytest.mark.parametrize("name", UNITS)
def test_a_unit_lets_the_service_do_nothing_that_it_need_not(name: str) -> None:
    service = unit(name)["Service"]
    assert {key for key in CLOSED.split() if service[key] != "yes"} == set()
    assert (service["User"], service["ProtectSystem"], service["CapabilityBoundingSet"]) == ("directory", "strict", "")
    assert service["Environment"] == f"ENV_FILE={ENVIRONMENT}"
    assert int(service["TimeoutStopSec"]) > 30


def test_the_units_start_what_is_there(tmp_path: Path) -> None:
    commands = [unit(name)["Service"]["ExecStart"] for name in UNITS]
    assert commands[0] == f"{CURRENT}/.venv/bin/python serve.py"
    assert commands[1] == f"{CURRENT}/.venv/bin/flask webhooks work"
    reloads = re.findall("^ExecReload=(.*)$", (DEPLOY / "directory.service").read_text(), re.MULTILINE)
    assert reloads == [f"{CURRENT}/.venv/bin/flask check", "/bin/kill -HUP $MAINPID"]  # the second if the first passes
    assert {unit(name)["Service"]["WorkingDirectory"] for name in UNITS} == {CURRENT}
    for name in UNITS:
        shutil.copy(DEPLOY / f"{name}.service", tmp_path)
    verify(tmp_path)


def verify(units: Path) -> None:
    """Have systemd read the units, where it is installed. It also looks for the programs, so others replace them."""
    if shutil.which("systemd-analyze"):
        for file in units.glob("*.service"):
            file.write_text(re.sub(rf"{CURRENT}/\.venv/bin/[\w-]+", "/bin/true", file.read_text()))
        files = sorted(map(str, units.iterdir()))
        said = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
        assert (said.returncode, said.stderr) == (0, "")


def test_the_example_of_the_environment_is_good_but_for_its_secret(app: Flask) -> None:
    with pytest.raises(SystemExit, match=r"^SECRET_KEY: "):
        config.load(environment())
    settings = config.load({**environment(), "SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e"})
    assert (settings["APP_ENV"], settings["TRUSTED_PROXIES"], settings["WEBHOOK_WORKER"]) == ("production", 1, False)
    assert environment().keys() <= config.DECLARED.keys()


def test_the_page_names_no_command_and_no_file_that_is_not_there(app: Flask) -> None:
    typed = "".join(blocks())
    for words in re.findall(r"^(?:docker compose run --rm )?directory ([a-z][a-z -]*[a-z])(?= |$)", typed, re.M):
        found: Any = app.cli
        for word in re.sub(r" --.*", "", words).split():
            found = found.get_command(click.Context(found), word)
            assert found is not None, word
        assert isinstance(found, click.Command)
    typed += (ROOT / "compose.yaml").read_text()
    files = {Path(path).name for path in re.findall(r"deploy/[\w.-]+", typed)}
    assert files == {path.name for path in DEPLOY.iterdir()}
    assert {path for path in (CURRENT, ENVIRONMENT) if path not in typed} == set()


# What the pages have typed, and what they name in their sentences.
CODE = re.compile(r"^ *```sh\n(.*?)^ *```|`([^`\n]+)`", re.M | re.S)
PROGRAM = r"(?:(?:.*[ /])?(?:flask|project-directory)|(?:docker compose run --rm )?directory)"
COMMAND = re.compile(rf"^ *{PROGRAM} ([a-z][^\n|&;<>]*)", re.M)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_commands_and_options_that_there_are(app: Flask, page: Path) -> None:
    code = "\n".join(block or span for block, span in CODE.findall(page.read_text())).replace("\\\n", " ")
    typed = {each.strip() for each in COMMAND.findall(code)} - {"serve"}  # the package's own
    assert [each for each in typed if not _is_there(app.cli, each)] == []


def test_a_command_or_an_option_that_there_is_not_is_found(app: Flask) -> None:
    typed = ("users suspend --q x --reason Spam", "users suspended", "users suspend --nope", "nope", "tidy --all")
    assert [_is_there(app.cli, each) for each in typed] == [True, False, False, False, True]


def _is_there(group: click.Command, typed: str) -> bool:
    """Whether there is a command that is typed so, with these options."""
    words, found = typed.split(), group
    while isinstance(found, click.Group) and words:
        inner = found.get_command(click.Context(found), words.pop(0))
        if inner is None:
            return False
        found = inner
    return {word.partition("=")[0] for word in words if word.startswith("--")} <= {*_options(found)}


def _options(command: click.Command) -> list[str]:
    return ["--help", *(name for each in command.params for name in (*each.opts, *each.secondary_opts))]


def test_a_host_gets_what_runs_and_knows_its_commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    [line] = re.findall(r"^git archive .*", PAGE, re.M)
    there = "sudo tar -x -C /opt/directory/releases/0.2.0"
    assert there in line
    subprocess.run(["bash", "-euc", line.replace(there, f"tar -x -C {tmp_path}")], cwd=ROOT, check=True)
    copied = {path.name for path in tmp_path.iterdir()}
    assert {"serve.py", "requirements.lock", "directory", "migrations", "deploy", ".ci"} <= copied
    assert copied & {".git", "tests", "bench", ".venv", "instance", ".env"} == set()
    monkeypatch.setattr(build, "COMMIT_FILE", tmp_path / "directory" / "data" / "commit.txt")
    build.commit.cache_clear()
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert build.commit() == head[:12]  # as long as the wheel's
    build.commit.cache_clear()


def test_commands_run_in_the_folder_of_their_release_wherever_they_are_typed(tmp_path: Path) -> None:
    [function] = re.findall(r"^directory\(\) \{.*?^\}", PAGE, re.M | re.S)
    [upgrade] = re.findall(r"^sudo .*\\\n.* db upgrade$", PAGE, re.M)
    script = f'sudo() {{ shift 2; "$@"; }}\n{function}\ndirectory users list\n{upgrade}\n'.replace(
        "/opt/", f"{tmp_path}/"
    )
    folders = [tmp_path / "directory" / name for name in ("current", "releases/0.3.0")]
    for folder in folders:
        (folder / ".venv" / "bin").mkdir(parents=True)
        program = folder / ".venv" / "bin" / "flask"
        program.write_text('#!/bin/sh\necho "$PWD $ENV_FILE $*"\n')
        program.chmod(0o755)
    said = subprocess.run(["bash", "-euc", script], cwd="/", check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == [
        f"{folders[0]} {ENVIRONMENT} users list",
        f"{folders[1]} {ENVIRONMENT} db upgrade",
    ]


def test_the_units_of_a_host_without_a_checkout_run_the_packages_program(tmp_path: Path) -> None:
    [line] = re.findall(r"^sudo (sed .*) deploy/\*\.service$", PAGE, re.M)
    for name in UNITS:
        shutil.copy(DEPLOY / f"{name}.service", tmp_path)
    subprocess.run(["bash", "-euc", f"{line} *.service"], cwd=tmp_path, check=True)
    started = [re.findall("^ExecStart=(.*)", (tmp_path / f"{name}.service").read_text(), re.M) for name in UNITS]
    program = f"{CURRENT}/.venv/bin/project-directory"
    assert started == [[f"{program} serve"], [f"{program} webhooks work"]]
    verify(tmp_path)


def test_the_first_certificate_is_there_before_nginx_is_configured() -> None:
    [block] = [each for each in blocks() if "nginx -t" in each]
    assert block.index("certbot certonly") < block.index("conf.d/directory.conf") < block.index("nginx -t")
    [root] = re.findall(r"--webroot-path (\S+)", block)
    renewing = (DEPLOY / "nginx.conf").read_text().partition("acme-challenge/ {")[2].partition("}")[0]
    assert f"root {root};" in renewing


def test_the_log_of_nginx_is_made_for_few_readers_before_nginx_writes_it() -> None:
    [block] = [each for each in blocks() if "nginx -t" in each]
    [log] = re.findall(r"access_log (/\S+)", (DEPLOY / "nginx.conf").read_text())
    made = f"install -m 0640 -o www-data -g adm /dev/null {log}\n"
    assert 0 < block.find(made) < block.index("nginx -t")


@pytest.fixture
def filled() -> Iterator[PostgresqlDatabase]:
    with servers.or_skip():
        servers.url_of(servers.DATABASE)
    database = PostgresqlDatabase("page")
    yield database
    database.drop()


@pytest.mark.postgresql
def test_the_page_moves_the_data_as_it_says(filled: PostgresqlDatabase, tmp_path: Path) -> None:
    old = f"sqlite:///{tmp_path / 'old.db'}"
    migrate(old)
    with over(old) as app:
        World(app).project(votes=3)
    settings = {**environment(), "SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e", "DATABASE_URL": filled.url}
    (tmp_path / "environment").write_text("".join(f"{name}='{value}'\n" for name, value in settings.items()))
    ran = subprocess.run(["bash", "-euc", _here(tmp_path)], capture_output=True, text=True, timeout=120)
    assert ran.returncode == 0, ran.stderr
    shown = PAGE.partition("```text\nTABLE")[2].partition("```")[0].splitlines()
    assert ran.stdout.splitlines()[0].split() == ["TABLE", *shown[0].split()]
    assert [re.sub(r"[\d,]+ (\w+?)s?\b", r"N \1", line) for line in ran.stdout.splitlines()[-2:]] == [
        re.sub(r"[\d,]+ (\w+?)s?\b", r"N \1", line) for line in shown[-2:]
    ]
    with over(filled.url) as app:
        assert World(app).stored(1)["upvotes"] == 3


def _here(folder: Path) -> str:
    """The page's commands for it, with the paths of here."""
    script = "".join(block for block in blocks() if block.startswith(("directory() {", "directory copy")))
    for there, here in (
        ("sudo -u directory ", ""),
        (ENVIRONMENT, str(folder / "environment")),
        (CURRENT, str(ROOT)),
        (".venv/bin/flask", f"{shlex.quote(sys.executable)} -m flask"),
        ("/var/lib/directory/directory.db", str(folder / "old.db")),
    ):
        assert there in script
        script = script.replace(there, here)
    return f"export PATH={shlex.quote(os.environ['PATH'])}\n{script}"
