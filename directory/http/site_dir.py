"""The files of SITE_DIR. What is among them and cannot be used ends the start, with one line."""

from collections.abc import Iterator
from pathlib import Path

LOCALE = "locale"
COMPILED = ".mo"  # what editors of translations leave beside a file *.po


class SiteError(SystemExit):
    """Something in SITE_DIR cannot be used; as a SystemExit it ends the start with its one line on standard error."""

    def __init__(self, place: Path | str, why: object) -> None:
        super().__init__(f"SITE_DIR: {place}: {' '.join(str(why).split())}")


def files(root: Path, part: str, suffix: str = "", pattern: str = "**/*") -> Iterator[Path]:
    """The files in a folder of SITE_DIR by their paths, without hidden ones; none if the folder is not there.

    No folder may end with `suffix`. Raises SiteError.
    """
    home = root / part
    if not home.is_dir() and (home.exists() or home.is_symlink()):
        raise SiteError(home, "is not a folder")
    try:
        for path in sorted(home.glob(pattern)):
            if not any(step.startswith(".") for step in path.relative_to(root).parts) and _is_file(root, path, suffix):
                yield path
    except (OSError, RuntimeError) as error:  # the latter where links lead in a ring
        raise SiteError(home, getattr(error, "strerror", None) or error) from None


def _is_file(root: Path, path: Path, suffix: str) -> bool:
    """Whether something is a file. Raises SiteError for anything else but a folder without `suffix`."""
    if not path.resolve().is_relative_to(root.resolve()):
        raise SiteError(path, "is a link that leads out of the folder")
    if path.is_symlink() and path.is_dir():
        raise SiteError(path, "is a link to a folder")
    if not path.is_file() and (not path.is_dir() or (suffix and path.suffix == suffix)):
        raise SiteError(path, "is not a file")
    return path.is_file()


def translations(root: Path, tags: tuple[str, ...]) -> dict[str, list[Path]]:
    """The operator's files of each language of the site, and of English. Raises SiteError for those of another one."""
    known, found = {tag.lower(): tag for tag in ("en", *tags)}, dict[str, list[Path]]()
    home = root / LOCALE
    for path in files(root, LOCALE, ".po"):
        folder, *name = path.relative_to(home).parts
        if len(name) != 1 or path.suffix not in {".po", COMPILED}:
            raise SiteError(path, "a translation is a file [language]/[name].po")
        tag = known.get(folder.replace("_", "-").lower())
        if tag is None:
            raise SiteError(home / folder, f"{folder} is not among SITE_LANGUAGES: {', '.join(tags)}")
        if path.suffix != COMPILED:
            found.setdefault(tag, []).append(path)
    return found
