"""The built pages for tests: the real ones, or a few small files in their place."""

import gzip
import shutil
from pathlib import Path

import pytest

from directory.api import web_build
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
    """A build of four small pages and one script, in the place of the real one: its folder."""
    (tmp_path / "assets").mkdir()
    for name in ("index", "project", "members", "console"):
        (tmp_path / f"{name}.html").write_text(f"<!doctype html><head>{web_build.HEAD}</head><p>{name}</p>")
    (tmp_path / "assets" / "index-AAAA.js").write_text("console.log(1)")
    (tmp_path / "assets" / "index-AAAA.js.gz").write_bytes(gzip.compress(b"console.log(1)"))
    monkeypatch.setattr(web_build, "DIST", tmp_path)
    return tmp_path
