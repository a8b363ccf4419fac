"""What the console says of the events is what the table of events says."""

import subprocess
import sys
from pathlib import Path

from tests.support.web import ROOT


def test_the_console_has_the_words_of_the_table(tmp_path: Path) -> None:
    made = tmp_path / "events.ts"
    subprocess.run([sys.executable, ".ci/console_events.py", made], cwd=ROOT, check=True)
    assert made.read_text() == (ROOT / "directory" / "web" / "src" / "api" / "events.ts").read_text()
