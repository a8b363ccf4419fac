"""A release's list of its parts: every pinned and bundled package, in CycloneDX's form, and the licences."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cyclonedx import spdx
from cyclonedx.model.bom import Bom

from directory.services.build import VERSION
from tests.support.web import require_pages

ROOT = Path(__file__).resolve().parents[2]
LOCK = ROOT / "requirements.lock"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files, by the end of their names."""
    require_pages(ROOT / "directory" / "web" / "node_modules" / ".deno")
    folder = tmp_path_factory.mktemp("sbom")
    subprocess.run([sys.executable, ".ci/sbom.py", folder], cwd=ROOT, check=True)
    return {path.name.removeprefix(f"project_directory-{VERSION}."): path for path in folder.iterdir()}


def test_every_package_is_listed_with_a_licence_that_spdx_knows(written: dict[str, Path]) -> None:
    document: Any = json.loads(written["cdx.json"].read_text())
    assert len(Bom.from_json(document).components) == len(document["components"])  # type: ignore[attr-defined]
    listed = {part["purl"] for part in document["components"]}
    assert set(document["dependencies"][0]["dependsOn"]) == listed
    pinned = re.findall(r"^([\w.-]+)==([\w.]+) \\$", LOCK.read_text(), re.M)
    assert {f"pkg:pypi/{name}@{version}" for name, version in pinned} - listed == set()
    bundled = {"%40preact/signals", "%40preact/signals-core", "openapi-fetch", "openapi-typescript-helpers", "preact"}
    assert {purl[8:].rpartition("@")[0] for purl in listed if purl.startswith("pkg:npm/")} == bundled
    for part in document["components"]:
        [given] = part["licenses"]
        known = (
            spdx.is_expression(given["expression"])
            if "expression" in given
            else spdx.is_supported_id(given["license"]["id"])
        )
        assert known, part["name"]


def test_the_licences_have_a_section_for_each_package_and_the_lock_is_the_one_of_the_checkout(
    written: dict[str, Path],
) -> None:
    document = json.loads(written["cdx.json"].read_text())
    texts = written["licences.txt"].read_text()
    for part in document["components"]:
        assert f"\n{part['name']} {part['version']}: " in texts
    assert "Permission is hereby granted, free of charge" in texts.partition("\npreact ")[2]
    assert written["requirements.lock"].read_bytes() == LOCK.read_bytes()
