"""The files of SITE_DIR. What is among them and cannot be used ends the start, with one line."""

from collections.abc import Iterator
from pathlib import Path

from directory.services.catalog import synonyms as words
from directory.services.catalog.search_language import Synonyms

SYNONYMS = "synonyms.txt"
LARGEST_TEXT, LARGEST_WORDS = 256 * 1024, 4 * 2**20  # bytes
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
    known, by_tag = {tag.lower(): tag for tag in ("en", *tags)}, dict[str, list[Path]]()
    home = root / LOCALE
    for path in files(root, LOCALE, ".po"):
        folder, *name = path.relative_to(home).parts
        if len(name) != 1 or path.suffix not in {".po", COMPILED}:
            raise SiteError(path, "a translation is a file [language]/[name].po")
        tag = known.get(folder.replace("_", "-").lower())
        if tag is None:
            raise SiteError(home / folder, f"{folder} is not among SITE_LANGUAGES: {', '.join(tags)}")
        if path.suffix != COMPILED:
            by_tag.setdefault(tag, []).append(path)
    return by_tag


def synonyms(folder: str) -> Synonyms:
    """The words that mean the same, as the operator's file says; none without a folder or file. Raises SiteError."""
    named = files(Path(folder), "", ".txt", f"{SYNONYMS}*") if folder else ()
    lists = [path for path in named if path.name == SYNONYMS]
    try:
        return words.parse(text(lists[0], LARGEST_WORDS)) if lists else {}
    except words.WrongLine as error:
        raise SiteError(f"{lists[0]}:{error.number}", error) from None


def text(path: Path, most: int = LARGEST_TEXT) -> str:
    """A file of text, of `most` bytes, with the ends of lines as they are on Unix. Raises SiteError."""
    try:
        return content(path, most).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise SiteError(path, f"is not UTF-8 at byte {error.start}") from None


def content(path: Path, most: int) -> bytes:
    """The bytes of a file, no more than `most`. Raises SiteError."""
    try:
        with path.open("rb") as file:
            read = file.read(most + 1)
    except OSError as error:
        raise SiteError(path, f"cannot be read: {error.strerror}") from None
    if len(read) > most:
        raise SiteError(path, f"is larger than {most // 1024} KiB")
    return read
