"""Says what a file is that has no rows to import, and what to do with it, before any row is read."""

import codecs
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import click

BEGINNINGS = {
    b"PK\x03\x04": "a spreadsheet or another ZIP archive. Save the table as CSV in UTF-8, and import that",
    b"\xd0\xcf\x11\xe0": "a spreadsheet of an old Excel. Save the table as CSV in UTF-8, and import that",
    b"\x1f\x8b": "compressed by gzip. Use `gunzip -c FILE | flask import -`",
    b"BZh": "compressed by bzip2. Use `bunzip2 -c FILE | flask import -`",
    b"\xfd7zXZ": "compressed by xz. Use `xz -dc FILE | flask import -`",
    b"\x28\xb5\x2f\xfd": "compressed by zstd. Use `zstd -dc FILE | flask import -`",
    b"SQLite format 3\0": "a SQLite database. `flask copy` copies one",
    b"%PDF-": "a PDF",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
}
ARRAY = "one JSON array. Give each object a line of its own, as `jq -c '.[]' FILE` does"
SPREAD = "JSON with objects over several lines. Give each object one line, as `jq -c . FILE` does"
NOT_UTF_8 = (
    'line {}: The file is not in UTF-8. Save it as UTF-8 (in Excel as "CSV UTF-8"), or give its encoding, often '
    "--encoding windows-1252."
)
READ_AT_ONCE = 1 << 20
KEPT_IN_MEMORY = 16 << 20
# As `surrogateescape` decodes them: bytes that are no UTF-8, but letters or marks of Windows-1252 that texts have.
_FOREIGN = re.compile("[\udc80-\udcfd]")
_INTERNATIONAL = re.compile("[^\x00-\x7f\udc80-\udcff]")


@contextmanager
def seekable(file: IO[bytes]) -> Iterator[IO[bytes]]:
    """The file, or a copy of what a pipe gives, which is kept on disk if it is large."""
    if file.seekable():
        yield file
        return
    with tempfile.SpooledTemporaryFile(KEPT_IN_MEMORY) as kept:
        shutil.copyfileobj(file, kept)
        kept.seek(0)
        yield kept


def require_rows(file: IO[bytes], form: str) -> None:
    """Raise ClickException, one line, if the file is known to have no rows of this format."""
    start = file.read(READ_AT_ONCE)
    file.seek(0)
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip()
    if kind := _kind(start, text, form):
        raise click.ClickException(f"The file is {kind}.")


def require_utf_8(file: IO[bytes]) -> None:
    """Raise ClickException if the file is text in another encoding.

    A file that has other letters in UTF-8 is UTF-8: a bad cell in it costs one row.
    """
    foreign, line = 0, 1
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    while chunk := file.read(READ_AT_ONCE):
        text = decoder.decode(chunk, final=len(chunk) < READ_AT_ONCE)
        if _INTERNATIONAL.search(text):
            foreign = 0
            break
        if not foreign and (match := _FOREIGN.search(text)):
            foreign = line + text.count("\n", 0, match.start())
        line += text.count("\n")
    file.seek(0)
    if foreign:
        raise click.ClickException(NOT_UTF_8.format(foreign))


def _kind(start: bytes, text: bytes, form: str) -> str | None:
    """What the file is, by its beginning; None if it may have rows of the format."""
    for beginning, kind in BEGINNINGS.items():
        if start.startswith(beginning):
            return kind
    if b"\0" in start[2:4096] and b"\0" not in start[:2] and not start.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "not text"
    if text.startswith(b"<"):
        return "HTML or XML"
    line = text.partition(b"\n")[0].strip()
    if form == "csv":
        return "JSON, and not CSV. Give its format, --format jsonl" if text.startswith((b"{", b"[{")) else None
    if text.startswith(b"["):
        return ARRAY
    if text.startswith(b"{"):
        return SPREAD if line.endswith((b"{", b",", b"[", b":")) else None
    names = {name.strip(b' "').lower() for name in re.split(rb"[,;\t|]", line)}
    return "CSV. Give its format, --format csv" if {b"title", b"url"} <= names else None
