"""The output of make while it installs: a moving line on a terminal, and a command's output where it fails."""

import os
import subprocess
import sys
from pathlib import Path

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


def test_elsewhere_it_is_one_line() -> None:
    ran = subprocess.run([*PROGRESS, *WORKS], cwd=ROOT, capture_output=True, text=True, timeout=WITHIN)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "Installing\n")


def test_a_failure_shows_what_was_printed_and_keeps_the_status() -> None:
    ran = subprocess.run([*PROGRESS, *FAILS], cwd=ROOT, capture_output=True, text=True, timeout=WITHIN)
    assert (ran.returncode, ran.stdout, ran.stderr) == (3, "", "Installing\nno such package\n")


def test_make_installs_by_it() -> None:
    makefile = Path(ROOT / "Makefile").read_text()
    assert makefile.count("@$(PROGRESS)") == 3
    assert "install -q" not in makefile.partition("lock:")[0]
