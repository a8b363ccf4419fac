"""The wheel: what it holds, and how it serves from an empty environment that has what is pinned."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from directory.services.build import VERSION
from tests.support import servers
from tests.support.processes import free_port
from tests.support.waiting import until
from tests.support.web import require_pages

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("__main__.py", "config.py", "gunicorn.conf.py", "serve.py", "wsgi.py")
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile")
GRACE = ("--username", "grace", "--email", "grace@example.org", "--password", "nine blue paper boats")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require_pages()
    command = [sys.executable, ".ci/wheel.py", str(tmp_path_factory.mktemp("wheel"))]
    return Path(_run(command, ROOT, dict(os.environ)).strip())


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    """What a command prints; it must end well."""
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_it_holds_every_module_and_the_pages_in_one_folder(wheel: Path) -> None:
    held = ZipFile(wheel).namelist()
    assert {name.partition("/")[0] for name in held} == {"project_directory", f"project_directory-{VERSION}.dist-info"}
    tracked = _run(
        ["git", "ls-files", *MODULES, "deploy", "directory", "migrations", "settings"], ROOT, dict(os.environ)
    )
    needed = {name for name in tracked.split() if not name.startswith(("directory/web/", "directory/locale/"))}
    needed |= {name for name in tracked.split() if name.startswith("directory/locale/") and name.endswith(".po")}
    needed |= {str(path.relative_to(ROOT)) for path in (ROOT / "directory" / "web" / "dist").rglob("*.*")}
    needed.add("directory/data/commits.txt")  # the build writes it, for the version
    assert {name.partition("/")[2] for name in held if name.startswith("project_directory/")} == needed


def test_its_extras_are_the_packages_for_traces_and_errors(wheel: Path) -> None:
    [name] = [name for name in ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA")]
    optional = re.findall(r'^Requires-Dist: (.*); extra == "extras"$', ZipFile(wheel).read(name).decode(), re.M)
    lines = (ROOT / "requirements-extras.txt").read_text().splitlines()
    assert {str(Requirement(one)) for one in optional} == {str(Requirement(one)) for one in lines if one[0] != "#"}


class Installed:
    """An environment that has what is pinned and the wheel, and a folder to run in, where it finds nothing of ours."""

    def __init__(self, wheel: Path, folder: Path) -> None:
        self._programs, self.here = folder / "environment" / "bin", folder / "here"
        self.environment = {"PATH": os.defpath, "HOME": str(folder), "PORT": str(free_port())}
        _run([sys.executable, "-m", "venv", str(self._programs.parent)], folder, dict(os.environ))
        for what in (("--require-hashes", "-r", str(ROOT / "requirements.lock")), ("--no-deps", str(wheel))):
            _run([str(self._programs / "python"), *PIP, *what], folder, dict(os.environ))
        _run([str(self._programs / "python"), "-m", "pip", "check"], folder, dict(os.environ))
        self.here.mkdir()
        for name in ("config", "directory", "settings", "wsgi"):  # what lies there is another program's
            (self.here / f"{name}.py").write_text("raise ImportError")

    def command(self, *arguments: str) -> str:
        """What `project-directory` prints; it must end well."""
        return _run([str(self._programs / "project-directory"), *arguments], self.here, self.environment)

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Serve while the block runs; TERM then ends it as asked."""
        log = (self.here / "log").open("wb")
        command = [str(self._programs / "project-directory"), "serve"]
        with log, subprocess.Popen(command, cwd=self.here, env=self.environment, stdout=log, stderr=log) as server:
            try:
                until(lambda: server.poll() is not None or self._answers(), 60)
                yield
                server.send_signal(signal.SIGTERM)
                assert server.wait(60) == 0, (self.here / "log").read_text()
            finally:
                server.kill()

    def get(self, path: str) -> str:
        """The body that a path is answered with, with 200."""
        connection = http.client.HTTPConnection("127.0.0.1", int(self.environment["PORT"]), timeout=30)
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read().decode()
        connection.close()
        assert answer.status == 200, f"{path}: {answer.status} {body}"
        return body

    def _answers(self) -> bool:
        with suppress(OSError, http.client.HTTPException):
            return bool(self.get("/healthz"))
        return False


def test_it_serves_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    installed = Installed(wheel, tmp_path)
    assert installed.command("--version") == f"project-directory {VERSION}\n"
    assert {"serve", "db", "seed", "users", "webhooks"} <= set(installed.command("--help").split())
    (installed.here / ".env").write_text("SITE_NAME='Of this folder'\n")
    _serve(installed)
    assert installed.command("users", "create-admin", *GRACE) == "grace is an administrator now.\n"
    assert "all is right" in installed.command("recount", "--check")
    assert {path.name for path in (installed.here / "instance").iterdir()} == {"directory.db", "secret_key"}
    with servers.or_skip():
        server = servers.url_of(servers.DATABASE)
    installed.environment["DATABASE_URL"] = servers.create_database(server, "wheel")
    try:
        _serve(installed)
    finally:
        servers.drop_database(server, "wheel")


def _serve(installed: Installed) -> None:
    """Migrate an empty database, fill it with the demo, and serve it."""
    installed.command("db", "upgrade")
    installed.command("seed")
    with installed.serving():
        page = installed.get("/")
        assert "Of this folder" in page
        assets = re.findall(r'"(/assets/[^"]+)"', page)
        assert len(assets) > 1
        assert all(installed.get(asset) for asset in assets)
        assert json.loads(installed.get("/api/projects"))["pagination"]["total"] > 50
        assert json.loads(installed.get("/readyz"))["checks"]["migrations"]["ok"]
