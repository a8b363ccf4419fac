"""Packages that were trimmed for the image: they are smaller, and work as before."""

import runpy
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.serving import ROOT

PACKAGES = ("ada_url", "cryptography", "PIL", "sqlalchemy", "uvloop")
WORK = """
import asyncio, io, sys
from pathlib import Path
import ada_url, PIL, sqlalchemy, uvloop
from cryptography.hazmat.primitives.hashes import SHA256, Hash
from PIL import Image

folder = Path(sys.argv[1])
assert {Path(each.__file__).parents[1] for each in (ada_url, PIL, sqlalchemy, uvloop)} == {folder}
assert ada_url.URL("https://EXAMPLE.org/a/../b").href == "https://example.org/b"
digest = Hash(SHA256())
digest.update(b"paper boats")
assert len(digest.finalize()) == 32
for form in ("PNG", "JPEG", "WEBP", "AVIF"):
    Image.new("RGB", (64, 64), "navy").save(file := io.BytesIO(), form)
    assert Image.open(file).resize((8, 8)).size == (8, 8)
with sqlalchemy.create_engine("sqlite://").connect() as connection:
    assert connection.execute(sqlalchemy.text("SELECT 1 AS one")).one().one == 1
with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
    assert runner.run(asyncio.sleep(0, "done")) == "done"
"""


@pytest.fixture(scope="module")
def trimmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of packages with compiled libraries, trimmed."""
    folder = tmp_path_factory.mktemp("packages")
    for name in PACKAGES:
        (found,) = find_spec(name).submodule_search_locations  # type: ignore[union-attr, misc]
        shutil.copytree(found, folder / name)
    for libraries in Path(found).parent.glob("pillow.libs"):
        shutil.copytree(libraries, folder / libraries.name)
    runpy.run_path(str(ROOT / ".ci" / "trim.py"))["trim"](folder)
    return folder


def test_trimmed_packages_work(trimmed: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", WORK, trimmed], env={"PYTHONPATH": str(trimmed)}, capture_output=True, text=True
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_what_only_compilers_debuggers_and_tests_read_is_gone(trimmed: Path) -> None:
    names = {path.name for path in trimmed.rglob("*")}
    assert {"ada.cpp", "ada.h", "loop.pyx", "testing"}.isdisjoint(names)
    (found,) = find_spec("uvloop").submodule_search_locations  # type: ignore[union-attr, misc]
    (library,) = Path(found).glob("loop.*.so")
    assert (trimmed / "uvloop" / library.name).stat().st_size < library.stat().st_size


def test_what_is_no_library_of_64_bits_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "package").mkdir()
    (file := tmp_path / "package" / "odd.so").write_bytes(b"\x7fELF\x01\x01" + bytes(90))
    runpy.run_path(str(ROOT / ".ci" / "trim.py"))["trim"](tmp_path)
    assert file.read_bytes() == b"\x7fELF\x01\x01" + bytes(90)
