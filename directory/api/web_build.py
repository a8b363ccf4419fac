"""The built pages: the files of directory/web/dist, which `make web` makes, held in memory."""

import mimetypes
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

DIST = Path(__file__).resolve().parent.parent / "web" / "dist"
HEAD = "<!--head-->"  # where a page's own title and description go
MEDIA_TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file under /assets, as it is and compressed by gzip."""

    media_type: str
    content: bytes
    compressed: bytes


@dataclass(frozen=True, slots=True)
class Build:
    """What was built: the HTML of each entry, before and after its head, and the assets by name."""

    shells: dict[str, tuple[str, str]] = field(default_factory=dict)
    assets: dict[str, Asset] = field(default_factory=dict)

    def page(self, entry: str, head: str) -> bytes | None:
        """The HTML of an entry ("index" or "console") with this head; None where it is not built."""
        if entry not in self.shells:
            return None
        before, after = self.shells[entry]
        return f"{before}{head}{after}".encode()


def load() -> Build:
    """The build as it is on disk now; an empty one where there is none."""
    shells = sorted(DIST.glob("*.html"))
    return _read(DIST, tuple((path.name, path.stat().st_mtime_ns) for path in shells))


@lru_cache(maxsize=2)
def _read(folder: Path, shells: tuple[tuple[str, int], ...]) -> Build:
    build = Build()
    for name, _changed in shells:
        before, _, after = (folder / name).read_text(encoding="utf-8").partition(HEAD)
        build.shells[Path(name).stem] = (before, after)
    for path in sorted((folder / "assets").glob("*")) if shells else ():
        if path.suffix != ".gz":
            compressed = path.with_name(f"{path.name}.gz").read_bytes()
            build.assets[path.name] = Asset(_media_type(path), path.read_bytes(), compressed)
    return build


def _media_type(path: Path) -> str:
    known = MEDIA_TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    return known or "application/octet-stream"
