"""flask check, and commands with settings that only the server needs: the commands as a shell runs them."""

import subprocess
import sys
from pathlib import Path

import pytest

import config
import wsgi
from directory.cli import COMMANDS
from settings import EVERY, NOTIFYING
from tests.conftest import ENVIRONMENT, build, migrate
from tests.services.test_audit_completeness import commands
from tests.support.extras import rows
from tests.support.processes import free_port
from tests.support.serving import ROOT, WITHIN

FLASK, PACKAGE = [sys.executable, "-m", "flask"], [sys.executable, "."]
# A fault in each part that a command does without, and the beginning of its line.
OF_SERVER = {
    "SITE_ACCENT": "no colour", "SITE_LOGO": "/nothing/here", "REDIS_URL": "nonsense", "WEB_CONCURRENCY": "many",
    **rows("faults"), "CORS_ORIGINS": "*", "PORT": "x", "RATELIMIT_READ": "often",
    "SENTRY_DSN": "nonsense", "PASSWORDS": "maybe", "SESSION_HOURS": "long", "SELF_REVIEW": "maybe",
    "REVIEW_ON_EDIT": "maybe", "REGISTRATION_OPEN": "maybe", "MEMBER_BYTES_PER_DAY": "many", "CHANGES_DAYS": "many",
    "REVIEWER_NAMES": "maybe", "SIGNUP_DOMAINS": "nonsense!", "AUDIT_RETENTION": "long",
}  # fmt: skip
OF_DELIVERY = {"MAIL_URL": "nonsense", "WEBHOOK_URL": "https://hooks.example/x", "SITE_URL": "nonsense"}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The settings of a migrated database."""
    url = f"sqlite:///{tmp_path / 'directory.db'}"
    migrate(url)
    return {**ENVIRONMENT, "DATABASE_URL": url, "FLASK_SKIP_DOTENV": "1", "LOG_LEVEL": "WARNING"}


def run(program: list[str], words: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [*program, *words.split()]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=WITHIN)


@pytest.mark.parametrize("program", [FLASK, PACKAGE], ids=["flask", "project-directory"])
def test_check_tells_by_its_exit_status_whether_the_settings_make_sense(
    environment: dict[str, str], program: list[str]
) -> None:
    good = run(program, "check", environment | {"SITE_ACENT": "#123456"})
    assert (good.returncode, good.stdout) == (0, "The settings make sense.\n")
    warning = "SITE_ACENT is not a setting, so nothing reads it; the nearest is SITE_ACCENT"
    assert good.stderr == f"Warning: {warning}\n"
    bad = run(program, "check", environment | {"SITE_ACCENT": "no colour"})
    assert (bad.returncode, bad.stdout) == (1, "")
    assert bad.stderr.startswith("SITE_ACCENT: 'no colour'")
    assert bad.stderr.count("\n") == 1


def outward(tmp_path: Path) -> dict[str, str]:
    """A folder of the site with a link that leads out of it."""
    (tmp_path / "site" / "static").mkdir(parents=True)
    (tmp_path / "site" / "static" / "out").symlink_to("/etc/hostname")
    return {"SITE_DIR": str(tmp_path / "site")}


def test_a_link_out_of_the_folder_of_the_site_stops_what_serves_and_warns_elsewhere(
    environment: dict[str, str], tmp_path: Path
) -> None:
    environment |= outward(tmp_path) | {"PORT": str(free_port())}  # `serve` looks first whether its port is free
    line = f"SITE_DIR: {tmp_path / 'site/static/out'}: is a link that leads out of the folder\n"
    for words in ("check", "serve"):
        ended = run(PACKAGE, words, environment)
        assert (ended.returncode, ended.stderr) == (1, line), words
    for words in (f"backup {tmp_path / 'copy.db'}", "users list", "webhooks list", "recount --check"):
        ended = run(FLASK, words, environment)
        assert (ended.returncode, ended.stderr.count(f"Warning: {line}")) == (0, 1), words
    assert (tmp_path / "copy.db").stat().st_size


def test_faults_of_other_parts_are_warnings_of_a_command_that_needs_none_of_them(
    environment: dict[str, str], tmp_path: Path
) -> None:
    faults = OF_SERVER | OF_DELIVERY
    for words in (f"backup {tmp_path / 'copy.db'}", "export"):
        ended = run(FLASK, words, environment | faults)
        assert ended.returncode == 0, ended.stderr
        said = {line.removeprefix("Warning: ").partition(":")[0] for line in ended.stderr.splitlines()}
        expected = {*faults} - {"GITHUB_CLIENT_ID", "WEBHOOK_URL"} | {"GITHUB_CLIENT_SECRET", "WEBHOOK_SECRET"}
        assert said == expected


def test_a_secret_file_that_cannot_be_read_is_a_fault_of_its_part(environment: dict[str, str], tmp_path: Path) -> None:
    faults = {"MAIL_URL_FILE": "/nothing/here", "REDIS_URL_FILE": "/nothing/either"}
    ended = run(FLASK, f"backup {tmp_path / 'copy.db'}", environment | faults)
    assert ended.returncode == 0, ended.stderr
    assert ended.stderr.count("Warning: ") == 2


@pytest.mark.parametrize(("name", "value"), OF_DELIVERY.items())
def test_a_command_that_may_notify_somebody_needs_the_settings_of_notifications(
    environment: dict[str, str], name: str, value: str
) -> None:
    for words in ("webhooks work", "users suspend ada"):
        ended = run(FLASK, words, environment | {name: value})
        assert (ended.returncode, ended.stdout) == (1, ""), words
        assert "Warning" not in ended.stderr
        assert ended.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["DATABASE_URL", "APP_ENV", "READ_ONLY"])
def test_no_command_does_without_the_settings_of_the_data(environment: dict[str, str], name: str) -> None:
    ended = run(FLASK, "users list", environment | {name: "nonsense"})
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("name", "value", "stops", "goes_on"),
    [
        ("CHANGES_DAYS", "many", "tidy", "users list"),
        ("RULE_FACTS_DAYS", "many", "webhooks work", "users export"),
        ("REVIEWER_NAMES", "maybe", "users export", "tidy"),
        ("SIGNUP_DOMAINS", "nonsense!", "users list", "users export"),
        ("ALLOW_INTERNAL_URLS", "maybe", "import", "export"),
        pytest.param("REPORTS", "maybe", "users delete", "backup", marks=pytest.mark.extra("reports")),
        ("SELF_REVIEW", "maybe", "serve", "webhooks work"),
    ],
)
def test_a_setting_stops_what_needs_it_alone(name: str, value: str, stops: str, goes_on: str, tmp_path: Path) -> None:
    """Asked of the settings themselves, as `wsgi.py` does for a command."""
    environ = {"DATABASE_URL": f"sqlite:///{tmp_path / 'x.db'}", "SECRET_KEY": "k" * 40, name: value}

    def load(words: str) -> list[str]:
        if words == "serve":
            config.load(environ)
        return config.load_for(wsgi.needs(words.split()), environ)[1]

    with pytest.raises(config.ConfigError, match=f"^{name}: "):
        load(stops)
    [line] = load(goes_on)
    assert line.startswith(f"{name}: ")


def test_what_needs_a_setting_is_said_of_commands_that_there_are(tmp_path: Path) -> None:
    app = build(f"sqlite:///{tmp_path / 'unused.db'}")
    named = {word for setting in config.SETTINGS for word in setting.needed_by} - {EVERY, NOTIFYING}
    assert named - {*COMMANDS, *commands(app)} == set()
