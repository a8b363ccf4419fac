"""Reads the translations of a language from its files *.po: ours, and over them the operator's.

polib is imported where a file is read: a site in plain English needs neither.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from gettext import c2py  # the standard library's reader of plural rules
from pathlib import Path
from sys import intern
from typing import Any

from directory.language.catalogues import ENGLISH, Catalogue, has_the_placeholders
from directory.language.locales import locale_of
from directory.language.messages import CATEGORY, SITE

OURS = Path(__file__).resolve().parent.parent / "locale"
LINE = re.compile(r'\s*(#.*|((msgctxt|msgid|msgid_plural|msgstr(\[\d\])?)\s+)?"([^"\\]|\\.)*")?\s*')
FOR_TRANSLATORS = re.compile(r"^#[.:|].*$", re.MULTILINE)  # comments; the lines stay, for they are counted
NO_LINE = "is not a line of a .po file"
RULE = re.compile(r"\s*nplurals\s*=\s*(\d+)\s*;\s*plural\s*=\s*([^;]+);?\s*")
TRIED = range(1000)  # the numbers for which a plural rule has to name a form
Plural = tuple[int, Callable[[int], int]]  # the number of forms, and the form for a number
ONE_OR_MANY: Plural = (2, ENGLISH.plural)


def our_files(tag: str) -> list[Path]:
    """Our files of a language; English has none."""
    return sorted((OURS / tag).glob("*.po"))


def catalogue(tag: str, files: Iterable[Path]) -> Catalogue:
    """The catalogue of a language; of two files that translate a message the later one counts, of two rules the first.

    Raises ValueError, which names the file and the line, for a translation that cannot be used.
    """
    texts: dict[tuple[str, str], Sequence[str]] = {}
    rule: Plural | None = ONE_OR_MANY if tag == ENGLISH.tag else None
    for path in files:
        parsed = _parsed(path)
        own = _rule(path, parsed.metadata.get("Plural-Forms", ""))
        rule = rule or own
        for entry in parsed:
            if forms := _forms(path, entry, rule):
                texts[entry.msgctxt or "", intern(entry.msgid)] = forms  # all languages share the message
    return Catalogue(tag, texts, (rule or ONE_OR_MANY)[1], locale_of(tag))


def _parsed(path: Path) -> Any:
    import polib

    try:
        text = path.read_bytes().decode("utf-8-sig")
        for number, line in enumerate(text.splitlines(), 1):
            if not LINE.fullmatch(line):  # polib passes over a line without its last quotation mark
                raise ValueError(f"{path}:{number}: {NO_LINE}")
        return polib.pofile(FOR_TRANSLATORS.sub("", text))  # the process would keep the memory that parsing them takes
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: is not UTF-8 at byte {error.start}") from None
    except OSError as error:  # polib's own for what it cannot parse
        match = re.search(r"\(line (\d+)\)", str(error))
        raise ValueError(
            f"{path}:{match[1]}: {NO_LINE}" if match else f"{path}: cannot be read: {error.strerror}"
        ) from None


def _rule(path: Path, rule: str) -> Plural | None:
    """The plural rule of a file; None where it has none. Raises ValueError."""
    if not rule:
        return None
    match = RULE.fullmatch(rule)
    try:
        if match is None:
            raise ValueError
        count, choose = int(match[1]), c2py(match[2])
        if not all(0 <= choose(number) < count for number in TRIED):
            raise ValueError
    except (ValueError, ArithmeticError, RecursionError):
        raise ValueError(f"{path}:{_line_of(path, 'Plural-Forms')}: {rule!r} is not a plural rule") from None
    return count, choose


def _line_of(path: Path, words: str) -> int:
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    return next((number for number, line in enumerate(lines, 1) if words in line), 1)


def _forms(path: Path, entry: Any, rule: Plural | None) -> list[str]:
    """The forms of a translation; empty if it is obsolete, fuzzy or incomplete. Raises ValueError."""
    if entry.obsolete or entry.fuzzy:
        return []
    place = f"{path}:{max(1, entry.linenum)}"  # polib's first line is 0
    forms = list(entry.msgstr_plural.values()) if entry.msgid_plural else [entry.msgstr]
    if not all(forms):
        return []
    if entry.msgid_plural and (rule is None or len(forms) != rule[0]):
        raise ValueError(f"{place}: {entry.msgid!r} has not the plural forms of the language")
    for form in forms:
        if fault := _fault(entry, form):
            raise ValueError(f"{place}: {fault}")
    return forms


def _fault(entry: Any, form: str) -> str:
    """What is wrong with a translation."""
    # In texts of the operator braces are ordinary characters, not placeholders.
    if entry.msgctxt in {CATEGORY, SITE} or has_the_placeholders(form, entry.msgid, is_plural=bool(entry.msgid_plural)):
        return ""
    return f"{form!r} has not the placeholders of {entry.msgid!r}"
