"""`flask db upgrade` prints how far it is."""

import re
import subprocess
import sys
from pathlib import Path

from tests.conftest import ENVIRONMENT
from tests.support.serving import ROOT

# Ten seconds pass between any two looks at the clock.
HURRIED = """
import sys, threading
import click
wait = threading.Event.wait
threading.Event.wait = lambda self, seconds=None: wait(self, 0.02 if seconds == 10.0 else seconds)
from flask.cli import main
sys.argv[1:] = ["--app", "wsgi", "db", "upgrade"]
main()
"""


def test_an_upgrade_prints_every_ten_seconds_what_it_does(tmp_path: Path) -> None:
    environment = {**ENVIRONMENT, "DATABASE_URL": f"sqlite:///{tmp_path / 'new.db'}"}
    first = [sys.executable, "-m", "flask", "--app", "wsgi", "db", "upgrade", "0008"]
    subprocess.run(first, cwd=ROOT, env=environment, capture_output=True, check=True)
    command = [sys.executable, "-c", HURRIED]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    lines = re.findall(r"^Migrating for \d+ s: (.+)\.$", ran.stderr, re.M)
    assert lines
    assert set(lines) & {"tables and columns", "words of search"}
