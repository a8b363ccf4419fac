"""The files that production installs: the tested versions, each by its hash, from any index."""

import re
from importlib.metadata import requires
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text()
PINS = {
    canonicalize_name(name): (version, hashes.count("--hash=sha256:"))
    for name, version, hashes in re.findall(r"^([\w.-]+)==([\w.]+)((?:.*\\\n)*.*)", LOCK, re.M)
}


def required(text: str) -> list[Requirement]:
    return [Requirement(line) for line in text.splitlines() if line and not line.startswith(("#", "-"))]


def test_the_versions_are_those_that_are_tested() -> None:
    tested = {
        canonicalize_name(one.name): str(one.specifier) for one in required((ROOT / "constraints.txt").read_text())
    }
    assert {name: f"=={version}" for name, (version, _) in PINS.items()} == {name: tested.get(name) for name in PINS}


def test_nothing_that_runs_is_left_out() -> None:
    waiting, seen = required((ROOT / "requirements.txt").read_text()), set()
    while waiting:
        one = waiting.pop()
        key = (canonicalize_name(one.name), frozenset(one.extras))
        if key in seen:
            continue
        seen.add(key)
        assert key[0] in PINS
        assert one.specifier.contains(PINS[key[0]][0])
        for below in map(Requirement, requires(one.name) or []):
            if any(below.marker is None or below.marker.evaluate({"extra": extra}) for extra in one.extras | {""}):
                waiting.append(below)
    assert len(seen) > 30


def test_every_file_is_known_by_its_hash_and_none_by_an_address() -> None:
    assert {name for name, (_, hashes) in PINS.items() if not hashes} == set()
    assert len(PINS) == len(re.findall("==", LOCK))
    assert "://" not in LOCK
    assert not re.search(r"^--|index", LOCK, re.M)
