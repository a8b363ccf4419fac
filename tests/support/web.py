"""The built pages for tests: the real ones, or a few small files in their place."""

import gzip
import json
import shutil
from pathlib import Path

import pytest

from directory.pages import build as web_build
from tests.support.processes import ServerMissing
from tests.support.servers import or_skip

ROOT = Path(__file__).resolve().parents[2]
DENO = Path(shutil.which("deno") or ROOT / ".venv" / "web" / "bin" / "deno")
AXE = ROOT / "tests" / "web" / "node_modules" / "axe-core" / "axe.min.js"


def require_pages(*files: Path) -> None:
    """Skip the test where the pages are not built, or a file is missing; where servers are required, fail."""
    with or_skip():
        if not web_build.load().assets:
            raise ServerMissing("the pages are not built: run make web")
        if missing := [str(path) for path in files if not path.exists()]:
            raise ServerMissing(f"{', '.join(missing)} is not installed: run python .ci/web.py tools")


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A build of one script and one style sheet for all entries, in the place of the real one: its folder."""
    (tmp_path / "assets").mkdir()
    files = {"index-AAAA.js": "console.log(1)", "index-AAAA.css": "p { margin: 0 }"}
    for name, content in files.items():
        (tmp_path / "assets" / name).write_text(content)
        (tmp_path / "assets" / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
    entry = {"style": "/assets/index-AAAA.css", "script": "/assets/index-AAAA.js", "preload": []}
    listing = dict.fromkeys(("reading", "forms", "console"), entry)
    (tmp_path / web_build.LISTING).write_text(json.dumps(listing))
    monkeypatch.setattr(web_build, "DIST", tmp_path)
    return tmp_path
