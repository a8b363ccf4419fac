"""The output of make while it installs, compiles and builds: a moving line on a terminal, elsewhere further lines.

Where a command fails, what it printed is shown.
"""

import importlib.util
import os
import re
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.serving import ROOT, WITHIN
from tests.support.terminal import Terminal

PROGRESS = [sys.executable, ".ci/progress.py", "Installing"]
WORKS = [sys.executable, "-c", "import time; print('Collecting flask'); print('noise'); time.sleep(1.5)"]
FAILS = [sys.executable, "-c", "print('no such package'); raise SystemExit(3)"]


def test_a_terminal_sees_the_step_and_the_seconds_in_one_line() -> None:
    with Terminal([*PROGRESS, *WORKS], {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1"}, ROOT) as terminal:
        assert terminal.end() == 0
    frames = terminal.shown.split("\r\x1b[K")
    assert frames[0] == "Installing"
    assert "Installing: 0 s  Collecting flask" in frames
    assert "Installing: 1 s  Collecting flask" in frames
    assert frames[-1].startswith("Installing: ")
    assert terminal.shown.count("\n") == 1
    assert "noise" not in terminal.shown


SCRIPT = ROOT / ".ci" / "progress.py"
# The seconds between two lines pass at once.
HURRIED = """
import runpy, sys, threading
wait = threading.Event.wait
threading.Event.wait = lambda self, seconds=None: wait(self, 0.02 if seconds else seconds)
sys.argv[:1] = []
sys.path.insert(0, ".ci")
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class Clock:
    """A clock that goes on while somebody waits for the end, until which are so many seconds."""

    def __init__(self, seconds: float) -> None:
        self.now, self.end = 100.0, 100.0 + seconds

    def __call__(self) -> float:
        return self.now

    def wait(self, seconds: float) -> bool:
        self.now += seconds
        return self.now >= self.end


@pytest.fixture
def progress() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("progress_script", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_elsewhere_there_is_a_line_with_the_step_at_least_every_ten_seconds(
    progress: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(180)
    shown = progress.Shown("Installing", moves=False, clock=clock)
    shown.ended, shown.step = clock, "Collecting flask"
    shown.run()
    lines = capsys.readouterr().err.splitlines()
    at = [int(re.fullmatch(r"Installing: (\d+) s  Collecting flask", line)[1]) for line in lines]
    assert all(0 < after - before <= 10 for before, after in pairwise([0, *at, 180]))


def test_before_its_first_step_a_line_has_the_seconds_alone(
    progress: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = Clock(6)
    shown = progress.Shown("Compiling", moves=False, clock=clock)
    shown.ended = clock
    shown.run()
    assert capsys.readouterr().err == "Compiling: 5 s\n"


def test_elsewhere_a_command_is_a_line_and_those_of_its_steps() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HURRIED, *PROGRESS[1:], *WORKS], cwd=ROOT, capture_output=True, text=True, timeout=WITHIN
    )
    first, *others = ran.stderr.splitlines()
    assert (ran.returncode, ran.stdout, first) == (0, "", "Installing")
    assert {re.sub(r"\d+", "N", line) for line in others} >= {"Installing: N s  Collecting flask"}
    assert "noise" not in ran.stderr


def test_the_build_of_the_pages_names_its_step(tmp_path: Path) -> None:
    (tmp_path / "deno").write_text('#!/bin/sh\n[ "$1" = --version ] && echo deno 2.9.8 || sleep 1\n')
    (tmp_path / "deno").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    command = [sys.executable, "-c", HURRIED, ".ci/web.py", "build"]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=WITHIN)
    assert (ran.returncode, ran.stdout) == (0, "")
    said = {re.sub(r"\d+", "N", line) for line in ran.stderr.splitlines()}
    assert said >= {"Pages: N s  install the packages of the pages", "Pages: N s  bundle the pages"}


def test_a_line_takes_the_place_of_another_that_moves_on_the_same_terminal() -> None:
    code = "import sys, time; sys.path.insert(0, '.ci'); import progress; progress.EVERY = 0.02\n"
    code += "with progress.Shown('Pages', moves=False) as shown: time.sleep(1)"
    with Terminal([sys.executable, "-c", code], {"PATH": os.environ["PATH"]}, ROOT) as terminal:
        assert terminal.end() == 0
    assert re.fullmatch(r"(\r\x1b\[KPages: \d+ s\n)+", terminal.shown)


def test_a_failure_shows_what_was_printed_and_keeps_the_status() -> None:
    ran = subprocess.run([*PROGRESS, *FAILS], cwd=ROOT, capture_output=True, text=True, timeout=WITHIN)
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", "Installing\nno such package\n")


def test_make_installs_and_compiles_by_it() -> None:
    makefile = Path(ROOT / "Makefile").read_text()
    assert makefile.count('$(PROGRESS) "') == 4
    assert "install -q" not in makefile.partition("lock:")[0]
