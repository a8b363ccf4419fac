"""Several processes measure as one: the folder that they share, and what a scrape of real ones says."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as parse

from directory.http.metrics import FOLDER_VARIABLE, settle_folder
from directory.runtime import metrics_dir
from tests.conftest import ENVIRONMENT, migrate
from tests.support.burst import Ask, ask, burst
from tests.support.processes import free_port
from tests.support.serving import ROOT, WITHIN, Serving, serving

# Makes a folder, has a child that ends before it does, prints whether the folder is there, and ends.
MAKER = """
import os, sys
from pathlib import Path
from directory.http.metrics import FOLDER_VARIABLE
from directory.runtime import metrics_dir
metrics_dir.provide(sys.argv[1])
folder = Path(os.environ[FOLDER_VARIABLE])
if not os.fork():
    sys.exit()
os.wait()
print(folder, folder.is_dir())
"""


@pytest.fixture
def named(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The variable is empty, and at the end what it was."""
    monkeypatch.setenv(FOLDER_VARIABLE, "")
    return monkeypatch


def test_a_folder_is_made_once_and_goes_with_its_maker_not_with_a_child(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != FOLDER_VARIABLE}
    command = [sys.executable, "-c", MAKER, str(tmp_path)]
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    folder, there = said.split()
    assert (Path(folder).parent, there) == (tmp_path, "True")
    assert list(tmp_path.iterdir()) == []


def test_a_reload_uses_the_same_folder(named: pytest.MonkeyPatch, tmp_path: Path) -> None:
    metrics_dir.provide(str(tmp_path))
    metrics_dir.provide(str(tmp_path))
    assert [str(path) for path in tmp_path.iterdir()] == [os.environ[FOLDER_VARIABLE]]


def test_the_operators_own_folder_is_left_alone(named: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named.setenv(FOLDER_VARIABLE, "/srv/metrics")
    metrics_dir.provide(str(tmp_path))
    assert (os.environ[FOLDER_VARIABLE], list(tmp_path.iterdir())) == ("/srv/metrics", [])


def test_a_folder_that_another_server_made_is_not_taken_over(named: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named.setenv(FOLDER_VARIABLE, f"/dev/shm/directory-metrics-{os.getpid() + 1}-abcd")
    metrics_dir.provide(str(tmp_path))
    assert Path(os.environ[FOLDER_VARIABLE]).parent == tmp_path


def test_an_empty_name_is_none_and_a_new_folder_is_made(named: pytest.MonkeyPatch, tmp_path: Path) -> None:
    named.setenv(FOLDER_VARIABLE, "")
    settle_folder()
    assert FOLDER_VARIABLE not in os.environ
    new = tmp_path / "one" / "two"
    named.setenv(FOLDER_VARIABLE, str(new))
    settle_folder()
    settle_folder()
    assert (new.is_dir(), os.environ[FOLDER_VARIABLE]) == (True, str(new))
    (tmp_path / "file").touch()
    named.setenv(FOLDER_VARIABLE, str(tmp_path / "file"))
    with pytest.raises(SystemExit, match=f"^{FOLDER_VARIABLE}: "):
        settle_folder()


# Makes a folder and is killed; a child of it lives on until its standard input ends, where it is told to.
KILLED = """
import os, signal, sys
from directory.http.metrics import FOLDER_VARIABLE
from directory.runtime import metrics_dir
metrics_dir.provide(sys.argv[1])
if sys.argv[2:] and not os.fork():
    sys.stdin.read()
    os._exit(0)
print(os.environ[FOLDER_VARIABLE], flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@contextmanager
def killed(parent: Path, *options: str) -> Iterator[Path]:
    """The folder of one who was killed; who it leaves lives for as long as the block runs."""
    environment = {name: value for name, value in os.environ.items() if name != FOLDER_VARIABLE}
    command = [sys.executable, "-c", KILLED, str(parent), *options]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, env=environment, text=True, **pipes) as process:
        folder = Path(process.stdout.readline().strip())
        assert process.wait() == -signal.SIGKILL
        yield folder


def test_the_folder_of_a_server_that_was_killed_goes_at_the_next_start(
    named: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with killed(tmp_path) as folder:
        assert folder.is_dir()
        metrics_dir.provide(str(tmp_path))
    assert [str(path) for path in tmp_path.iterdir()] == [os.environ[FOLDER_VARIABLE]]


def test_the_folder_stays_while_any_process_of_its_server_is_left(named: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with killed(tmp_path, "and leave one") as folder:
        metrics_dir.provide(str(tmp_path))
        assert folder.is_dir()


def test_what_is_not_known_to_be_abandoned_stays(named: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with killed(tmp_path) as folder:
        number = metrics_dir._maker(folder)
    others = [
        tmp_path / name
        for name in (
            "directory-metrics-x-y",
            "directory-metrics-1-init",
            f"directory-metrics-{2**70}-a",
            f"other-{number}-a",
        )
    ]
    for other in others:
        other.mkdir()
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "files").mkdir(parents=True)
    (tmp_path / f"directory-metrics-{number}-link").symlink_to(elsewhere)
    metrics_dir.provide(str(tmp_path))
    assert not folder.exists()
    assert all(other.is_dir() for other in others)
    assert (elsewhere / "files").is_dir()


def test_the_folder_of_another_user_stays(named: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with killed(tmp_path) as folder:
        named.setattr("directory.runtime.metrics_dir.os.getuid", lambda: os.geteuid() + 1)
        metrics_dir.provide(str(tmp_path))
        assert folder.is_dir()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    """Two processes, measured as they are shipped, whose Redis is not there."""
    url = f"sqlite:///{tmp_path / 'directory.db'}"
    migrate(url)
    shared = {"WEB_CONCURRENCY": "2", "METRICS_ENABLED": "true", "RATELIMIT_ENABLED": "true", FOLDER_VARIABLE: ""}
    settings = {**ENVIRONMENT, **shared, "DATABASE_URL": url, "REDIS_URL": f"redis://127.0.0.1:{free_port()}/0"}
    with serving(settings, tmp_path / "log") as server:
        yield server


def scrape(server: Serving) -> list[Any]:
    answer = ask(server.port, "GET", "/metrics")
    assert answer.status == 200
    return [sample for family in parse(answer.body.decode()) for sample in family.samples]


def total(samples: list[Any], name: str, **labels: str) -> float:
    """The only sample of that name and these labels."""
    [found] = [s.value for s in samples if s.name == name and labels.items() <= s.labels.items()]
    return float(found)


def answered(server: Serving, path: str) -> float:
    return total(scrape(server), "directory_requests_total", route=path, status="200")


def folders(server: Serving) -> list[Path]:
    parents = {Path("/dev/shm"), Path(os.environ.get("TMPDIR", "/tmp"))}
    return [found for parent in parents for found in parent.glob(f"directory-metrics-{server.process.pid}-*")]


@pytest.mark.faults
def test_two_processes_sum_what_they_count_and_a_dead_one_takes_only_its_gauges_along(server: Serving) -> None:
    burst(server.port, [Ask("GET", "/api/categories")] * 40)
    first = scrape(server)
    assert total(first, "directory_requests_total", route="/api/categories", status="200") == 40
    assert total(first, "directory_request_seconds_count", route="/api/categories", method="GET") == 40
    assert total(first, "directory_ratelimit_fallback") == 0
    assert total(first, "directory_deliveries", state="pending") == 0

    ask(server.port, "POST", "/api/auth/login", json={"login": "ada", "password": "not the password"})
    assert [s.labels for s in scrape(server) if s.name == "directory_ratelimit_fallback"] == [{}]
    assert total(scrape(server), "directory_ratelimit_fallback") == 1

    killed = server.workers()
    for worker in killed:
        worker.send_signal(signal.SIGKILL)
    give_up = time.monotonic() + WITHIN
    while len(server.workers()) < 2 or {c.pid for c in server.workers()} & {c.pid for c in killed}:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    assert total(scrape(server), "directory_ratelimit_fallback") == 0
    assert answered(server, "/api/categories") == 40


@pytest.mark.faults
def test_the_folder_outlives_a_reload_and_goes_with_the_server(server: Serving) -> None:
    burst(server.port, [Ask("GET", "/api/categories")] * 10)
    [folder] = folders(server)
    before = {child.pid for child in server.workers()}
    server.process.send_signal(signal.SIGHUP)
    give_up = time.monotonic() + WITHIN
    while {child.pid for child in server.workers()} & before:
        assert time.monotonic() < give_up
        time.sleep(0.05)
    assert folders(server) == [folder]
    assert answered(server, "/api/categories") == 10
    server.stop()
    assert folders(server) == []
