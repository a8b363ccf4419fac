"""No room in /dev/shm, where the processes share their metrics: a small file system in memory is filled."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from tests.support.waiting import until
from tests.system.chaos import Outcome, scenario
from tests.system.chaos.actors import everybody
from tests.system.chaos.load import Load, expect_good, statuses
from tests.system.chaos.stage import Stage, stage

ROOM = 1 << 20  # bytes of the file system
LIMIT = 1000  # bytes of a process's files, where no file system may be mounted
LINE = "metrics are given up until this process is restarted"


@contextmanager
def small_folder(folder: Path) -> Iterator[bool]:
    """A small file system in memory at the folder; whether it could be mounted."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> None:
    """Use all room that is left."""
    with suppress(OSError), open(folder / "filling", "wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def workers(at: Stage) -> list[psutil.Process]:
    assert at.service is not None
    return at.service.workers()


@scenario(
    "/dev/shm is full, with METRICS_ENABLED, and processes are replaced",
    "no request fails and no process ends; each process logs once that its metrics are given up",
    short={"seconds": 2.0},
    long={"seconds": 20.0},
)
def full_memory(seconds: float) -> Outcome:
    with ExitStack() as stack:
        settings = {"PROMETHEUS_MULTIPROC_DIR": "{folder}/shm", "METRICS_ENABLED": "true", "WEB_CONCURRENCY": 2}
        at = stack.enter_context(stage("postgresql", **settings))
        assert at.service is not None
        shared = at.folder / "shm"
        at.stop()
        for file in shared.iterdir():
            file.unlink()
        shared.rmdir()
        mounted = stack.enter_context(small_folder(shared))
        at.start()
        until(lambda: len(workers(at)) == 2)
        _leave_no_room(at, shared, mounted=mounted)
        answers = []
        for _ in range(2):
            before = {each.pid for each in workers(at)}
            with Load(everybody(at)) as load:
                time.sleep(seconds)
            expect_good(load.answers)
            answers += load.answers
            assert {each.pid for each in workers(at)} == before, at.service.log.read_text()[-2000:]
            assert at.ask("GET", "/metrics").status == 200
            _replace_workers(at)
            if not mounted:
                _limit(at)
        at.settle()
        told = at.service.log.read_text().count(LINE)
        assert 1 <= told <= 6, told
        at.stop()
        how = "a full tmpfs" if mounted else f"files of at most {LIMIT} bytes"
        return Outcome(f"{how}, {len(answers)} requests, 4 processes killed", f"{statuses(answers)}; {told} log lines")


def _replace_workers(at: Stage) -> None:
    """Kill all workers, and wait for their successors."""
    before = workers(at)
    for each in before:
        each.kill()
    until(lambda: len(workers(at)) == len(before) and not {*workers(at)} & {*before})
    assert at.service is not None
    at.service.wait_until_ready()


def _leave_no_room(at: Stage, shared: Path, *, mounted: bool) -> None:
    if mounted:
        fill(shared)
        assert os.statvfs(shared).f_bavail == 0
    else:
        _limit(at)


def _limit(at: Stage) -> None:
    """Let no file of the workers grow: what this leaves out is that a file system is full for reading processes too."""
    for each in workers(at):
        each.rlimit(psutil.RLIMIT_FSIZE, (LIMIT, LIMIT))
