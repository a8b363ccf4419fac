"""docs/private.md is followed as it stands: its settings, commands and outputs, and signing in by its provider."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import config
from directory import create_app
from tests.conftest import Database
from tests.support.browsers import Browser
from tests.support.factories import Api
from tests.support.lying_provider import LyingProvider, walk
from tests.support.serving import serving

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "private.md").read_text(encoding="utf-8")
SITE, SERVE = "http://127.0.0.1:8000", "project-directory serve > server.log 2>&1 &\n"
on_sqlite = pytest.mark.parametrize("migrated", ["sqlite"], indirect=True)


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```", PAGE, re.M | re.S)


def settings(folder: Path) -> str:
    """The settings of the page. The package takes paths from the present folder, and a checkout from its own."""
    [found] = blocks("ini")
    assert "=site\n" in found
    return f"DATABASE_URL=sqlite:///{folder}/private.db\n" + found.replace("=site\n", f"={folder}/site\n")


def run(commands: str, folder: Path, environ: dict[str, str]) -> str:
    program = f'project-directory() {{ {shlex.quote(sys.executable)} -m flask --app {ROOT}/wsgi.py "$@"; }}\n'
    ran = subprocess.run(
        ["bash", "-c", f"set -eu -o pipefail\n{program}{commands}"], cwd=folder, env=environ, capture_output=True,
        encoding="utf-8", timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.extra("feed_keys")
def test_each_step_prints_what_the_page_shows(tmp_path: Path) -> None:
    if shutil.which("curl") is None:
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)("the steps need curl")
    (tmp_path / "private.env").write_text(settings(tmp_path))
    environ = {"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)}
    made, outside, inside = blocks("sh")
    assert made.endswith(SERVE)
    run(made.removesuffix(SERVE), tmp_path, environ)
    with serving({"ENV_FILE": str(tmp_path / "private.env"), "APP_ENV": "development"}, tmp_path / "log") as server:
        here = f"http://127.0.0.1:{server.port}"
        commands = [outside.replace(SITE, here), outside.splitlines()[0].replace(SITE, here) + "\n" + inside]
        assert [run(each, tmp_path, environ) for each in commands] == blocks("text")


@pytest.mark.extra("providers")
@on_sqlite
def test_members_sign_in_by_the_provider_and_read(database: Database, provider: LyingProvider, tmp_path: Path) -> None:
    """With the settings of the page, and a provider of the tests' own. The address is where it was before."""
    (tmp_path / "site").mkdir()
    given = dict(line.split("=", 1) for line in settings(tmp_path).splitlines())
    given |= {"DATABASE_URL": database.url, "SECRET_KEY": "s" * 64, "LOG_LEVEL": "WARNING", **provider.environment}
    given["REGISTRATION_OPEN"] = "true"  # this person is new
    app: Any = create_app(config.load(given))
    browser = Browser(app)
    refused = browser.get("/api/projects")
    assert (refused.status_code, refused.json["code"]) == (401, "unauthenticated")
    assert 'href="/api/auth/providers/company?next=%2Fp%2F5"' in browser.get("/p/5").text
    assert walk(browser, provider, next="/mine").headers["Location"].startswith("/mine")
    assert (browser.get("/api/projects").status_code, browser.get("/mine").status_code) == (200, 200)
    assert Api(app).get("/api/projects").status_code == 401
