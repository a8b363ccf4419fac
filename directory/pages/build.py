"""The built scripts and style sheets of the pages: directory/web/dist, which `make web` makes, held in memory."""

import gzip
import hashlib
import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from directory.http.files import StoredFile

DIST = Path(__file__).resolve().parent.parent / "web" / "dist"
LISTING = "pages.json"  # the files of each entry
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
    ".webp": "image/webp", ".woff2": "font/woff2", ".txt": "text/plain; charset=utf-8",
    ".html": "text/html; charset=utf-8", ".json": "application/json", ".md": "text/markdown; charset=utf-8",
}  # fmt: skip
# Browsers without light-dark() get the light colours, as in base.css.
ACCENT = """
:root {{ --accent: {light}; --accent-ink: #ffffff; --accent-soft: {light-soft}; }}
@supports (color: light-dark(#000, #fff)) {{ :root {{ --accent: light-dark({light}, {dark});
--accent-ink: light-dark(#ffffff, #0b0f0e); --accent-soft: light-dark({light-soft}, {dark-soft}); }} }}
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """The files that a page loads: a style sheet, a script, and the modules that the script imports."""

    style: str
    script: str
    preload: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Build:
    """The built entries and assets, each by name. Both are empty if nothing was built."""

    entries: dict[str, Entry] = field(default_factory=dict)
    assets: dict[str, StoredFile] = field(default_factory=dict)


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


def _asset(path: Path) -> StoredFile:
    compressed = path.with_name(f"{path.name}.gz").read_bytes()
    return StoredFile(media_type(path.name), path.read_bytes(), compressed)


def media_type(name: str) -> str:
    """The media type of a file, by its name."""
    suffix = Path(name).suffix.lower()
    return MEDIA_TYPES.get(suffix) or mimetypes.guess_type(f"x{suffix}")[0] or "application/octet-stream"


def of_operator(built: Build, accent: Mapping[str, str], pictures: Mapping[str, bytes]) -> Build:
    """The build with the operator's accent colour at the end of each style sheet, and with pictures, by their names.

    The colours are part of a file, because the policy of the pages refuses styles in HTML. Its name changes with them.
    """
    assets = {**built.assets, **{name: _made(name, content) for name, content in pictures.items()}}
    entries = dict(built.entries)
    for name, entry in entries.items() if accent else ():
        content = built.assets[Path(entry.style).name].content + ACCENT.format_map(accent).encode()
        file = hashed(Path(entry.style).stem.partition("-")[0], content, ".css")
        assets[file] = _made(file, content)
        entries[name] = replace(entry, style=f"/assets/{file}")
    return Build(entries, assets)


def hashed(stem: str, content: bytes, suffix: str) -> str:
    """A file's name that changes with its content."""
    return f"{stem}-{hashlib.sha256(content).hexdigest()[:12]}{suffix}"


def _made(name: str, content: bytes) -> StoredFile:
    return StoredFile(media_type(name), content, gzip.compress(content, mtime=0))
