"""Metrics of several processes, where there is no room for their files: nothing fails but the metrics."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from directory.http import metrics_files
from directory.http.metrics_files import SIZE, ReservedFile
from tests.support.serving import ROOT


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Room is reserved for as many more files or growths as the list has; the sizes that were asked for are added."""
    left: list[int] = []
    real = os.posix_fallocate

    def reserve(file: int, start: int, size: int) -> None:
        if not left:
            raise OSError(errno.ENOSPC, "No space left on device")
        left.pop()
        real(file, start, size)

    monkeypatch.setattr(os, "posix_fallocate", reserve)
    monkeypatch.setattr(metrics_files, "_reported", set())
    return left


def stored(values: Any) -> dict[str, float]:
    return {key: value for key, value, _ in values.read_all_values()}


def test_every_page_of_a_file_is_reserved_before_it_is_written(tmp_path: Path) -> None:
    file = tmp_path / "counter_1.db"
    values: Any = ReservedFile(str(file))
    assert file.stat().st_blocks * 512 >= SIZE
    for n in range(1000):
        values.write_value(f"{n}{'k' * 200}", float(n), 0.0)
        assert file.stat().st_blocks * 512 >= file.stat().st_size >= values._used
    values.close()
    again: Any = ReservedFile(str(file))
    assert stored(again)[f"999{'k' * 200}"] == 999.0
    again.close()


@pytest.mark.parametrize("room", [0, 1, 2])
def test_without_room_a_process_counts_in_its_memory_and_says_so_once(
    tmp_path: Path, full: list[int], caplog: pytest.LogCaptureFixture, room: int
) -> None:
    full += [1] * room
    file = tmp_path / "counter_1.db"
    values: Any = ReservedFile(str(file))
    for n in range(3000):
        values.write_value(f"{n}{'k' * 200}", float(n), 0.0)
    other: Any = ReservedFile(str(tmp_path / "gauge_1.db"))
    other.write_value("one", 1.0, 0.0)
    assert len(stored(values)) == 3000
    assert stored(other) == {"one": 1.0}
    assert [each.levelname for each in caplog.records] == ["ERROR"]
    assert [each.name for each in tmp_path.iterdir()] == (["counter_1.db"] if room else []), "no empty file"
    for each in (values, other):
        each.close()


def test_a_folder_that_is_gone_fails_nothing_either(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    values: Any = ReservedFile(str(tmp_path / "gone" / "counter_1.db"))
    values.write_value("one", 1.0, 0.0)
    assert stored(values) == {"one": 1.0}


# The application, which counts requests, in a process whose files may not grow beyond so many bytes.
PROGRAM = """
import json, resource, sys
from tests.conftest import build
from tests.support.factories import Api
app = build(sys.argv[1], METRICS_ENABLED="true")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
import os
if child := os.fork():
    os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) % 256)
api = Api(app)
print(json.dumps([api.get(path).status_code for path in ("/healthz", "/api/nothing", "/healthz")]), flush=True)
os._exit(0)
"""


def test_requests_are_answered_though_the_files_of_metrics_cannot_be_written(tmp_path: Path) -> None:
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-c", PROGRAM, f"sqlite:///{tmp_path / 'none.db'}"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [200, 404, 200]
    assert "metrics are given up" in done.stdout + done.stderr
