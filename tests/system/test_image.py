"""The image: built as its Containerfile says, and run as its own user, without a shell, on both databases.

Where the machine lets nobody build images, a container without privileges for one, the same steps are run in a folder,
and the service from there; the test then says so as the reason of a skip.
"""

import http.client
import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from directory.services.build import RELEASE
from tests.support import servers
from tests.support.containerfile import FolderContainer, configuration, instructions
from tests.support.images import Buildah, ImageContainer, NotPermitted, main_process, require_buildah
from tests.support.processes import free_port
from tests.support.waiting import until

SECRET = {"SECRET_KEY": "4b6f1d0c9e2a5f7783b1c6d8e0f2a4957c1b3d5e"}
PAGE = (Path(__file__).resolve().parents[2] / "docs" / "deploy.md").read_text()
GRACE = ("--username", "grace", "--email", "grace@example.org", "--password", "nine blue paper boats")

Container = FolderContainer | ImageContainer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Container, str]]:
    """A container, and why it is none of the image; empty where it is one."""
    with servers.or_skip():
        try:
            require_buildah()
        except NotPermitted as reason:
            yield FolderContainer(tmp_path_factory.mktemp("container")), str(reason)
            return
    buildah = Buildah()
    try:
        try:
            buildah.make_base()
        except NotPermitted as reason:
            yield FolderContainer(tmp_path_factory.mktemp("container")), str(reason)
            return
        buildah.build()
        yield ImageContainer(buildah), ""
    finally:
        buildah.remove()


@pytest.fixture(scope="module")
def on_postgresql() -> Iterator[str]:
    with servers.or_skip():
        server = servers.url_of(servers.DATABASE)
    yield servers.create_database(server, "image")
    servers.drop_database(server, "image")


def test_the_containerfile_starts_programs_without_a_shell_and_as_a_user_without_rights() -> None:
    said = configuration()
    assert said["User"] == "10001:10001"
    assert said["Healthcheck"]["Test"][0] == "CMD"
    assert all(re.match(r"python3 |\[", rest) for word, rest in instructions() if word == "RUN")
    assert [rest for word, rest in instructions() if word == "FROM"] == ["${BUILD_BASE} AS build", "${BASE}"]


@pytest.mark.slow
def test_the_image_serves_as_its_own_user_without_a_shell(
    made: tuple[Container, str], on_postgresql: str, tmp_path: Path
) -> None:
    with servers.or_skip():
        redis = servers.url_of(servers.REDIS)
    container, instead = made
    data = container.root / "data"
    _require_frugal(container)
    documented = _documented()
    if instead:
        documented["DATABASE_URL"] = f"sqlite:///{data / 'directory.db'}"
    _require_service(container, documented, tmp_path / "log")
    assert {path.name for path in data.iterdir() if path.is_file()} == {"directory.db"}
    # As compose.yaml runs it: secrets in a file, nothing to write to.
    (data / "directory.db").unlink()
    shutil.rmtree(data / "instance", ignore_errors=True)
    (data / ".env").write_text(f"SECRET_KEY={SECRET['SECRET_KEY']}\nDATABASE_URL={on_postgresql}\n")
    data.chmod(0o555)
    _require_service(container, {"PREPARE_DATABASE": "true", "REDIS_URL": redis}, tmp_path / "log")
    assert {path.name for path in data.iterdir()} == {".env"}
    if instead:
        pytest.skip(f"the steps of the Containerfile ran in a folder, and the service from there: {instead}")


def _documented() -> dict[str, str]:
    """What the page sets for the image alone, with a secret of the tests' own."""
    given = dict(re.findall(r"--env (\w+)=(\S+)", PAGE.partition("podman run ")[2].partition("```")[0]))
    assert set(given) == {"DATABASE_URL", "PREPARE_DATABASE", "SECRET_KEY", "TRUSTED_PROXIES"}
    return {**given, **SECRET}


def _require_service(container: Container, environment: dict[str, str], log: Path) -> None:
    """It serves over an empty database, its health check tells, and TERM ends it as asked."""
    environment = {**environment, "PORT": str(free_port())}
    said = container.configuration()
    assert not _is_healthy(container, environment)
    server = container.start([*said["Entrypoint"], *said["Cmd"]], environment, log)
    try:
        until(lambda: server.poll() is not None or _answers(environment["PORT"]), 150)
        assert server.poll() is None, log.read_text()
        assert _is_healthy(container, environment)
        _require_pages(environment["PORT"])
        made = _call(container, environment, "users", "create-admin", *GRACE)
        assert made == "grace is an administrator now.\n"
        main_process(server, container.user).send_signal(signal.SIGTERM)
        assert server.wait(60) == 0, log.read_text()
    finally:
        _kill(server, container.user)


def _is_healthy(container: Container, environment: dict[str, str]) -> bool:
    """What the image's health check says."""
    _, *command = container.configuration()["Healthcheck"]["Test"]
    return container.run(command, environment).returncode == 0


def _call(container: Container, environment: dict[str, str], *command: str) -> str:
    """What the entry point prints for a command that must end well."""
    ran = container.run([*container.configuration()["Entrypoint"], *command], environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def _require_frugal(container: Container) -> None:
    """It says which setting is missing, and holds what it needs and no secret."""
    # The build is not told the number of commits.
    shown = _call(container, SECRET, "--version")
    assert re.fullmatch(rf"project-directory {re.escape(RELEASE)}\d*\n", shown)
    without = container.run([*container.configuration()["Entrypoint"], "serve"], {})
    assert "SECRET_KEY: set at least 32 random characters when APP_ENV=production" in without.stderr
    assert list((container.root / "data").iterdir()) == []
    assert not (container.root / "build").exists()
    held = {path.name for path in (container.root / "app" / "project_directory").iterdir()}
    assert held.isdisjoint({".env", "instance", "tests"})


def _answers(port: str) -> bool:
    with suppress(OSError, http.client.HTTPException):
        return _get(port, "/healthz")[0] == 200
    return False


def _require_pages(port: str) -> None:
    status, page = _get(port, "/")
    assert status == 200
    assert b"/assets/reading-" in page
    status, ready = _get(port, "/readyz")
    assert (status, json.loads(ready)["checks"]["migrations"]["ok"]) == (200, True)


def _get(port: str, path: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def _kill(server: subprocess.Popen[bytes], user: int) -> None:
    """End what still runs of the container."""
    while server.poll() is None:
        with suppress(StopIteration):
            for process in [*main_process(server, user).children(recursive=True), main_process(server, user)]:
                process.kill()
        with suppress(subprocess.TimeoutExpired):
            server.wait(1)
