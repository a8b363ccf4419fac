"""The supervisor keeps the deliverer running while the server runs."""

import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from directory.runtime import supervisor
from directory.runtime.supervisor import Supervisor

WITHIN = 30.0
# Says its name and waits for the end of its input, as the deliverer does.
WAITS = "import os, sys; print(os.getpid(), file=open(sys.argv[1], 'a'), flush=True); sys.stdin.read()"
DIES = "import os, sys; print(os.getpid(), file=open(sys.argv[1], 'a'), flush=True)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {WAITS}; import time; time.sleep(60)"

pytestmark = pytest.mark.faults


class Kept:
    """A supervisor over a script that writes down its process at each start."""

    def __init__(self, script: str, folder: Path) -> None:
        self.noted = folder / "pids"
        self.noted.touch()
        command = [sys.executable, "-c", script, str(self.noted)]
        self.supervisor = Supervisor(command, logging.getLogger("directory.test"), pause=0.01)
        self.supervisor.start()

    def pids(self, least: int) -> list[int]:
        """Those that it had, once there are so many."""
        give_up = time.monotonic() + WITHIN
        while len(pids := self.noted.read_text().split()) < least:
            assert time.monotonic() < give_up
            time.sleep(0.01)
        return [int(pid) for pid in pids]


@pytest.fixture
def keep(tmp_path: Path) -> Iterator[type]:
    made: list[Kept] = []

    class Keep:
        def __new__(cls, script: str) -> Kept:  # type: ignore[misc]
            made.append(Kept(script, tmp_path))
            return made[-1]

    yield Keep
    for one in made:
        one.supervisor.stop()


def test_a_child_that_ends_is_started_again(keep: type, caplog: pytest.LogCaptureFixture) -> None:
    kept = keep(DIES)

    assert len(set(kept.pids(3))) >= 3
    assert any("started again in" in message for message in caplog.messages)


def test_a_child_that_is_killed_is_started_again(keep: type) -> None:
    kept = keep(WAITS)
    [first] = kept.pids(1)
    os.kill(first, signal.SIGKILL)

    assert kept.pids(2)[1] != first


def test_a_restart_is_at_once_and_nothing_to_warn_of(keep: type, caplog: pytest.LogCaptureFixture) -> None:
    kept = keep(WAITS)
    kept.pids(1)
    kept.supervisor.restart()

    kept.pids(2)
    assert caplog.messages == []


def test_a_stopped_child_is_not_started_again(keep: type) -> None:
    kept = keep(WAITS)
    [pid] = kept.pids(1)
    kept.supervisor.stop()

    assert not psutil.pid_exists(pid)
    assert kept.pids(1) == [pid]


def test_a_child_that_ignores_sigterm_is_killed(keep: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "STOP_TIMEOUT", 0.2)
    kept = keep(STUBBORN)
    [pid] = kept.pids(1)
    kept.supervisor.stop()

    with contextlib.suppress(psutil.NoSuchProcess):  # it may go between the question and the wait
        psutil.Process(pid).wait(WITHIN)
    assert not psutil.pid_exists(pid)


def test_a_child_has_nothing_of_ours_open_but_the_pipe(keep: type) -> None:
    reading, writing = os.pipe()
    try:
        os.set_inheritable(writing, True)
        [pid] = keep(WAITS).pids(1)
        if sys.platform == "linux":
            held = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir()}
            assert os.readlink(f"/proc/self/fd/{writing}") not in held
    finally:
        os.close(reading)
        os.close(writing)


def test_a_supervisor_stopped_before_its_start_starts_nothing(tmp_path: Path) -> None:
    noted = tmp_path / "pids"
    one = Supervisor([sys.executable, "-c", DIES, str(noted)], logging.getLogger("directory.test"))
    one._stopping.set()
    one.start()
    one.stop()

    assert not noted.exists()


def test_the_child_sees_the_end_of_its_supervisor(keep: type) -> None:
    kept = keep(WAITS)
    kept.pids(1)
    kept.supervisor.forget()

    assert len(kept.pids(2)) >= 2  # its input was at its end, and it ended
