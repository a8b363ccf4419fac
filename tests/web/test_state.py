"""The state of the pages, unit-tested by Deno without a browser."""

import os
import subprocess

from tests.support.web import DENO, ROOT, require_pages


def test_the_state_of_the_pages_holds_without_a_browser():
    require_pages(DENO)
    command = [DENO, "test", "-A", "--no-check", "--quiet", "--location", "http://localhost/", "test/"]
    options = {"cwd": ROOT / "directory" / "web", "env": {**os.environ, "NO_COLOR": "1"}, "timeout": 60}
    ran = subprocess.run(command, capture_output=True, text=True, **options)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "ok | " in ran.stdout
