"""The built scripts and style sheets of the pages: directory/web/dist, which `make web` makes, held in memory."""

import json
import mimetypes
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

DIST = Path(__file__).resolve().parent.parent / "web" / "dist"
LISTING = "pages.json"  # the files of each entry
MEDIA_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file under /assets, as it is and compressed by gzip."""

    media_type: str
    content: bytes
    compressed: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """What a page loads: a style sheet, a script, and what that script imports."""

    style: str
    script: str
    preload: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """What was built: the entries and the assets, each by name. Both are empty where nothing was."""

    entries: dict[str, Entry] = field(default_factory=dict)
    assets: dict[str, Asset] = field(default_factory=dict)


def load() -> Build:
    """The build as it is on disk now; an empty one where there is none."""
    listing = DIST / LISTING
    return _read(DIST, listing.stat().st_mtime_ns) if listing.exists() else Build()


@lru_cache(maxsize=2)
def _read(folder: Path, _changed: int) -> Build:
    listed: dict[str, dict[str, Any]] = json.loads((folder / LISTING).read_text(encoding="utf-8"))
    entries = {name: Entry(entry["style"], entry["script"], tuple(entry["preload"])) for name, entry in listed.items()}
    files = [path for path in sorted((folder / "assets").iterdir()) if path.suffix != ".gz"]
    return Build(entries, {path.name: _asset(path) for path in files})


def _asset(path: Path) -> Asset:
    known = MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    compressed = path.with_name(f"{path.name}.gz").read_bytes()
    return Asset(known or "application/octet-stream", path.read_bytes(), compressed)
