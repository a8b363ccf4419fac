"""Write what a release consists of beside its wheel: python .ci/sbom.py FOLDER.

A CycloneDX document of the packages that `requirements.lock` pins and of those that are bundled into the pages, the
licences of all of them, and the lock itself. The same commit gives the same bytes. It needs the pages and `.venv`.
"""

import base64
import json
import re
import runpy
import shutil
import subprocess
import sys
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from packaging.markers import Marker

ROOT = Path(__file__).resolve().parents[1]
LOCK, WEB = ROOT / "requirements.lock", ROOT / "directory" / "web"
VERSION = runpy.run_path(str(ROOT / "directory" / "services" / "build.py"))["VERSION"]
NAME = "project-directory"
PINNED = re.compile(r"^([\w.-]+)==([\w.]+)(?: ; ([^\\]+?))? \\\n((?:    --hash=.*\n?)+)", re.M)
BUILDS = "esbuild"  # it bundles the pages and is not in them
TEXTS = re.compile(r"(^|/)(LICEN[CS]E|COPYING|NOTICE|AUTHORS)[^/]*$", re.I)
CLASSIFIER = "License :: OSI Approved :: "
# What packages without an SPDX expression say of themselves.
SPDX = {
    "Apache License 2.0": "Apache-2.0", "Apache Software License": "Apache-2.0", "Apache-2": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD License": "BSD-3-Clause", "BSD": "BSD-3-Clause", "MIT License": "MIT", "BSD 2-Clause License": "BSD-2-Clause",
    "GNU Lesser General Public License v3 (LGPLv3)": "LGPL-3.0-only", "Python Software Foundation License": "PSF-2.0",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A package of a release: its address by the Package URL specification, its licence, and the texts of that."""

    name: str
    version: str
    purl: str
    hashes: list[tuple[str, str]]
    licence: str
    texts: list[str] = field(default_factory=list)

    @property
    def component(self) -> dict[str, Any]:
        """The package in CycloneDX's form."""
        hashes = [{"alg": algorithm, "content": content} for algorithm, content in self.hashes]
        # An archive has one sum; a package on PyPI has one for each of its files, which are in the lock.
        one = {"hashes": hashes} if len(hashes) == 1 else {}
        licences = [{"expression": self.licence}] if " " in self.licence else [{"license": {"id": self.licence}}]
        return {
            "type": "library", "bom-ref": self.purl, "name": self.name, "version": self.version, "purl": self.purl,
            "licenses": licences, **one,
        }  # fmt: skip


def pinned() -> list[Part]:
    """The packages that production installs. Raises SystemExit for one that is not installed here as it is pinned."""
    found = []
    for name, version, marker, hashes in PINNED.findall(LOCK.read_text(encoding="utf-8")):
        sums = [("SHA-256", each) for each in re.findall(r"sha256:([0-9a-f]{64})", hashes)]
        purl = f"pkg:pypi/{name.lower().replace('_', '-')}@{version}"
        try:
            here = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            if not marker or Marker(marker.strip()).evaluate():
                raise SystemExit(f"No list of packages: {name} is pinned and not installed.") from None
            continue  # another version of Python needs it
        if here.version != version:
            raise SystemExit(f"No list of packages: {name} {here.version} is installed, and {version} is pinned.")
        files = [each for each in here.files or [] if TEXTS.search(str(each)) and ".dist-info" in str(each)]
        texts = [Path(str(each.locate())).read_text(encoding="utf-8", errors="replace") for each in sorted(files)]
        found.append(Part(name, version, purl, sums, _declared(here), texts))
    return found


def _declared(package: metadata.Distribution) -> str:
    """The licence that a package declares, as an SPDX expression where that can be known."""
    about = package.metadata
    if expression := about.get("License-Expression"):
        return str(expression)
    said = [each.removeprefix(CLASSIFIER) for each in about.get_all("Classifier") or [] if each.startswith(CLASSIFIER)]
    named = (about.get("License") or "").strip()
    if named and "\n" not in named and len(named) < 60:
        said = [SPDX.get(named, named)]
    if not said:
        raise SystemExit(f"No list of packages: {package.name} declares no licence.")
    return " OR ".join(SPDX.get(each, each) for each in said)


def bundled() -> list[Part]:
    """The packages of npm that are in the pages: what the pages depend on, and what that depends on."""
    locked = json.loads((WEB / "deno.lock").read_text(encoding="utf-8"))["npm"]
    by_name = {
        key.rpartition("_")[0].rpartition("@")[0] if "_" in key else key.rpartition("@")[0]: key for key in locked
    }
    waiting = [each for each in json.loads((WEB / "package.json").read_text())["dependencies"] if each != BUILDS]
    found: dict[str, Part] = {}
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        entry = locked[by_name[name]]
        version = by_name[name].removeprefix(f"{name}@").partition("_")[0]
        folder = _installed(name, version)
        about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
        texts = [each.read_text(encoding="utf-8") for each in sorted(folder.iterdir()) if TEXTS.search(each.name)]
        digest = base64.b64decode(entry["integrity"].removeprefix("sha512-")).hex()
        purl = f"pkg:npm/{name.replace('@', '%40')}@{version}"
        found[name] = Part(name, version, purl, [("SHA-512", digest)], about["license"], texts)
        waiting += entry.get("dependencies", [])
    return sorted(found.values(), key=lambda part: part.name)


def _installed(name: str, version: str) -> Path:
    kept = WEB / "node_modules" / ".deno"
    for folder in kept.glob(f"{name.replace('/', '+')}@{version}*"):
        return folder / "node_modules" / name
    raise SystemExit(f"No list of packages: {name} {version} is not in {kept.relative_to(ROOT)}: run make web.")


def document(parts: list[Part], commit: str, seconds: int) -> dict[str, Any]:
    """The CycloneDX document of these packages."""
    root = f"pkg:pypi/{NAME}@{VERSION}"
    service = {"type": "application", "bom-ref": root, "name": NAME, "version": VERSION, "purl": root,
               "licenses": [{"license": {"id": "MIT"}}]}  # fmt: skip
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json", "bomFormat": "CycloneDX", "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{root}#{commit}')}", "version": 1,
        "metadata": {
            "timestamp": datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z"),
            "component": service,
            "properties": [{"name": "commit", "value": commit}],
        },
        "components": [part.component for part in parts],
        "dependencies": [{"ref": root, "dependsOn": [part.purl for part in parts]}],
    }  # fmt: skip


def licences(parts: list[Part]) -> str:
    """The licences of the packages, with their texts."""
    sections = [
        f"{part.name} {part.version}: {part.licence}\n\n"
        + "\n\n".join(part.texts or ["The package has no text of it."])
        for part in parts
    ]
    line = "-" * 80
    sections.append((ROOT / "directory" / "data" / "README.md").read_text(encoding="utf-8"))
    return (
        f"\n{line}\n".join([f"What {NAME} {VERSION} installs and bundles.\n", *(each.rstrip() for each in sections)])
        + "\n"
    )


def main(folder: Path) -> None:
    """Write the files. Raises SystemExit with the reason where they cannot be made."""
    parts = [*pinned(), *bundled()]
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"project_directory-{VERSION}"
    commit, seconds = _git("log", "-1", "--format=%H %ct").split()
    written = json.dumps(document(parts, commit, int(seconds)), indent=2)
    (folder / f"{stem}.cdx.json").write_text(f"{written}\n", encoding="utf-8")
    (folder / f"{stem}.licences.txt").write_text(licences(parts), encoding="utf-8")
    shutil.copyfile(LOCK, folder / f"{stem}.requirements.lock")


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout  # noqa: S603, S607


if __name__ == "__main__":
    main(Path(sys.argv[1]))
