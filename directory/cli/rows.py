"""Projects as rows of a file: JSON Lines, or CSV with a header, in which tags are separated by spaces.

A column `field.[name]` has the values of an own field, in which choices are separated by semicolons.

Cells of CSV are not changed, even if a spreadsheet would read them as formulas, so that an export can be imported again
without a change. In a spreadsheet, load the columns of an export as text.
"""

import binascii
import codecs
import csv
import difflib
import itertools
import json
import re
import unicodedata
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import IO, Any, NamedTuple

import click
from marshmallow import ValidationError, fields

from directory.api.schemas.projects import ProjectInput
from directory.cli.console import checked, sayings
from directory.errors import DirectoryError, Invalid
from directory.http.fields import DayOrTime, Few, Line, Prose, Strict, Word
from directory.http.request_body import parse_json
from directory.models import Status, now
from directory.services.catalog import own_fields
from directory.services.catalog.fields import BODY, OWN_FIELDS, OWNED, Kind, Writer
from directory.services.catalog.fields import FIELDS as TABLE
from directory.services.catalog.own_filters import PARAMETER
from directory.services.clock import timestamp
from directory.services.data.import_export import READ_ONLY, WRITABLE
from directory.services.pictures import pictures
from directory.services.pictures.pictures import ALT_MAX, PICTURES_MAX

FORMATS = ("jsonl", "csv")
FIELDS = (*WRITABLE, *READ_ONLY)
REQUIRED = tuple(field.name for field in BODY if field.is_required)
NULLABLE = tuple(field.name for field in OWNED if field.is_nullable)
DATES = frozenset(field.name for field in TABLE if field.kind is Kind.TIME and field.writer is Writer.IMPORT)
DECIDED = frozenset({"status", "rejection_reason"})
PROSE = ("description", "rejection_reason")  # their spaces are kept
BLANKABLE = (*NULLABLE, *DECIDED, "owner", *DATES)  # an empty cell of these is null
SPACES = (
    "".join(  # of every width, and marks that show nothing
        char for char in map(chr, range(0x3001)) if unicodedata.category(char) == "Zs"
    )
    + "\t\u200b\u2060\ufeff"
)
# What tables call these fields.
SYNONYMS = {
    "name": "title", "link": "url", "website": "url", "homepage": "url", "site": "url", "address": "url",
    "repo": "repository_url", "repository": "repository_url", "source": "repository_url", "github": "repository_url",
    "source_code": "repository_url", "code": "repository_url", "git": "repository_url", "summary": "tagline",
    "subtitle": "tagline", "short_description": "tagline", "tag": "tags", "keywords": "tags", "topics": "tags",
    "by": "author", "creator": "author", "maker": "author", "developer": "author",
    "image": "logo_url", "icon": "logo_url", "username": "owner", "state": "status", "votes": "upvotes",
}  # fmt: skip
NOTHING = (None, "", 0, "0")  # values of columns that are left out
BOMS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
DELIMITERS = ",;\t|"
CHOICES = ";"  # separates the choices in the column of an own field
LOGO_MAX = 4 * -(-pictures.UPLOAD_MAX // 3)  # characters of base64
_BLANK = f'{DELIMITERS}" \r\n'
_SEPARATOR = re.compile(r'\s*"?sep=(.)"?[\s,;|]*', re.IGNORECASE)
_UNKNOWN = re.compile(r"(\S+): Unknown field\.")
_UNDECODED = re.compile("[\udc80-\udcff]")


class Past(DayOrTime):
    """An instant that has come, or the beginning of a day in UTC."""

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> datetime:
        instant = super()._deserialize(value, attr, data, **kwargs)
        if instant > now():
            raise ValidationError("Must not be in the future.")
        return instant


class Picture(fields.Field[Any]):
    """A picture of at most so many bytes in base64, which is converted as an uploaded one is."""

    def __init__(self, most: int, convert: Callable[[bytes], Any], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.most, self.convert = most, convert

    def _deserialize(self, value: Any, attr: str | None, data: Mapping[str, Any] | None, **kwargs: Any) -> Any:
        if not isinstance(value, str) or len(value) > 4 * -(-self.most // 3):
            raise ValidationError(f"Must be a picture of at most {self.most:,} bytes in base64.")
        try:
            return self.convert(b64decode(value, validate=True))
        except binascii.Error:
            raise ValidationError("Is not base64.") from None
        except Invalid as error:
            raise ValidationError(error.detail) from None


class ImportedPicture(Strict):
    """A picture of a project, with its words."""

    alt = Line(1, ALT_MAX, required=True)
    picture = Picture(pictures.PICTURE_MAX, pictures.as_picture, required=True)


class ImportedProject(ProjectInput):
    """A submission with its owner, its dates and the decision on it in the directory that it comes from."""

    status = Word(tuple(state.value for state in Status), allow_none=True)
    rejection_reason = Prose(0, 1000, allow_none=True)
    owner = fields.String(allow_none=True)
    logo = Picture(pictures.UPLOAD_MAX, pictures.as_logo, allow_none=True)
    # A project may have a picture twice.
    pictures = Few(fields.Nested(ImportedPicture), 0, PICTURES_MAX, of="picture", key=id, allow_none=True)
    created_at = Past(allow_none=True)
    updated_at = Past(allow_none=True)
    submitted_at = Past(allow_none=True)
    published_at = Past(allow_none=True)


PROJECT = ImportedProject()


class FileRow(NamedTuple):
    """One row: the line that it begins in, its fields, and why they are refused, if they are."""

    line: int
    fields: dict[str, Any]
    faults: list[str]
    left_out: frozenset[str] = frozenset()  # members of the row that have a value and are not imported


class Lines:
    """A file's lines in UTF-8, counted: how many, and how many bytes of the file they are.

    A byte order mark at the beginning is left out. UTF-16 is converted, with a mark or without one, and lines that end
    in a carriage return alone, as old programs for the Macintosh write them, are lines.
    """

    def __init__(self, file: IO[bytes], encoding: str | None = None) -> None:
        self.number, self.bytes = 0, 0
        chunks = self._counted(file)
        first = next(chunks, b"")
        encoding = encoding or encoding_of(first)
        chunks = itertools.chain([first], chunks)
        self._lines = self._split(chunks if encoding in {None, "utf-8-sig"} else self._converted(chunks, encoding))

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        line = next(self._lines)
        self.number += 1
        return line

    def _counted(self, file: IO[bytes]) -> Iterator[bytes]:
        for chunk in file:
            self.bytes += len(chunk)
            yield chunk

    def _split(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        """The lines, without a mark. Where carriage returns alone end them, a cell may contain line feeds."""
        first = next(chunks, b"").removeprefix(codecs.BOM_UTF8)
        if re.match(b"[^\r\n]*\r[^\r\n]", first) or (b"\r" in first and b"\n" not in first):
            text = b"".join([first, *chunks])
            yield from (line + b"\n" for line in text.removesuffix(b"\r").split(b"\r"))
        else:
            yield from itertools.chain([first] if first else [], chunks)

    def _converted(self, chunks: Iterator[bytes], encoding: str) -> Iterator[bytes]:
        """The lines of a file in another encoding. Raises ClickException if it is not in this encoding."""
        decoder, rest = codecs.getincrementaldecoder(encoding)(), ""
        try:
            for chunk in itertools.chain(chunks, [None]):
                rest += decoder.decode(chunk or b"", final=chunk is None)
                *lines, rest = rest.split("\n")
                yield from (f"{line}\n".encode("utf-8", "surrogatepass") for line in lines)
        except UnicodeDecodeError as error:
            read = rest + error.object[: error.start].decode(encoding)
            where = f"line {self.number + 1 + read.count(chr(10))}"
            fault = f"begins as {encoding[:6].upper()}, and goes on as something else"
            if not encoding.startswith("utf-16"):
                fault = f"is not in the encoding {encoding}"
            raise click.ClickException(f"{where}: The file {fault}.") from None
        if rest:
            yield rest.encode("utf-8", "surrogatepass")


def encoding_of(first: bytes) -> str | None:
    """The encoding that the beginning of a file shows, by a byte order mark or zeros; None means UTF-8."""
    return next((encoding for mark, encoding in BOMS.items() if first.startswith(mark)), _unmarked(first))


def _unmarked(first: bytes) -> str | None:
    """The encoding of UTF-16 without a byte order mark, by its first character, which is ASCII; None for others."""
    zeros = first[:1] == b"\0", first[1:2] == b"\0"
    return {(False, True): "utf-16-le", (True, False): "utf-16-be"}.get(zeros)


def read(lines: Lines, form: str, keep: frozenset[str] = DECIDED) -> Iterator[FileRow]:
    """The rows, each checked as the API checks a submission. Raises ClickException if the file has another format.

    `keep` are the members of an export that are imported in addition to those of a submission.
    """
    return _csv(lines, keep) if form == "csv" else _jsonl(lines, keep)


def require_known_fields(lines: Lines) -> None:
    """Raise ClickException if a row of JSON Lines has an unknown own field. `read` reports rows that are invalid."""
    defined = own_fields.present()
    for line in lines:
        if b'"fields"' in line:
            try:
                own = json.loads(line)[OWN_FIELDS]
                unknown = [name for name in own if name not in defined]
            except (ValueError, TypeError, KeyError, RecursionError):
                continue
            if unknown:
                raise click.ClickException(f"line {lines.number}: Unknown field: {unknown[0]}.")


def writer(file: IO[str], form: str) -> Callable[[dict[str, Any]], object]:
    """A function that writes a project to a file, as one row."""
    if form == "csv":
        table, own = csv.writer(file, lineterminator="\n"), [*own_fields.present()]
        names = [name for name in FIELDS if name != OWN_FIELDS]
        table.writerow([*names, *(PARAMETER + name for name in own)])
        return lambda project: table.writerow(
            [_cell(project[name]) for name in names] + [_own_cell(project[OWN_FIELDS].get(name)) for name in own]
        )
    return lambda project: file.write(json.dumps(project, ensure_ascii=False, default=_cell) + "\n")


def _jsonl(lines: Lines, keep: frozenset[str]) -> Iterator[FileRow]:
    for line in lines:
        if text := line.strip():
            yield _row(lines.number, text, _object, keep)


def _csv(lines: Lines, keep: frozenset[str]) -> Iterator[FileRow]:
    # Bytes that are not UTF-8 stay in as half surrogates, so that one bad cell costs one row.
    decoded = (line.decode("utf-8", "surrogateescape") for line in lines)
    texts = itertools.dropwhile(lambda text: not text.strip(_BLANK), decoded)  # blank rows above the header
    first = next(texts, "")
    csv.field_size_limit(LOGO_MAX)
    if declared := _SEPARATOR.fullmatch(first):  # a line of spreadsheets, above the header
        reader = csv.reader(texts, delimiter=declared[1], strict=True)
    else:
        reader = csv.reader(itertools.chain([first], texts), delimiter=_delimiter(first), strict=True)
    names = _header(reader, lines)
    while True:
        number = lines.number + 1
        try:
            cells = next(reader, None)
        except csv.Error as error:
            yield FileRow(number, {}, [f"The row is not CSV: {error}."])
            continue
        if cells is None:
            return
        if any(map(str.strip, cells)):
            yield _row(number, cells, lambda row: _named(names, row), keep)


def _delimiter(header: str) -> str:
    """The character that separates most names of columns."""
    return max(DELIMITERS, key=lambda char: sum(_name(cell) in FIELDS for cell in header.split(char)))


def _name(cell: str) -> str:
    """The name of a column, however a spreadsheet writes it."""
    return re.sub(r"\s", "_", cell.strip(SPACES).strip('"').strip(SPACES).lower())


def _header(reader: Iterator[list[str]], lines: Lines) -> list[str]:
    try:
        names = [_name(cell) for cell in next(reader, [])]
    except csv.Error as error:
        raise click.ClickException(f"line {lines.number}: The header is not CSV: {error}.") from None
    while names and not names[-1]:
        names.pop()
    own = (
        {PARAMETER + name for name in own_fields.present()} if any(name.startswith(PARAMETER) for name in names) else ()
    )
    unknown = [name for name in names if name not in own and (name not in FIELDS or name == OWN_FIELDS)]
    repeated = [name for n, name in enumerate(names) if name in names[:n]]
    missing = [name for name in REQUIRED if name not in names]
    for fault, named in (("Unknown column", unknown), ("Repeated column", repeated), ("Missing column", missing)):
        if named:
            shown = ", ".join(ascii(name) + (_meant(name) if named is unknown else "") for name in named)
            raise click.ClickException(f"line {max(1, lines.number)}: {fault}: {shown}.")
    return names


def _meant(name: str) -> str:
    """The question which field an unknown name means; nothing if none is near."""
    plain = re.sub(r"[\s-]", "_", name.lower())
    near = SYNONYMS.get(plain) or next(iter(difflib.get_close_matches(plain, FIELDS, 1)), None)
    return f" (did you mean `{near}`?)" if near else ""


def _trimmed(value: Any) -> Any:
    """A text, or the texts of a list, without spaces of any kind at its ends."""
    if isinstance(value, list):
        return [_trimmed(part) for part in value]
    return value.strip(SPACES) if isinstance(value, str) else value


def _row(number: int, cells: Any, parse: Callable[[Any], dict[str, Any]], keep: frozenset[str]) -> FileRow:
    try:
        project = {name: value if name in PROSE else _trimmed(value) for name, value in parse(cells).items()}
        left_out = frozenset(name for name in READ_ONLY if name not in keep and project.pop(name, None) not in NOTHING)
        return FileRow(number, checked(PROJECT, project), [], left_out)
    except DirectoryError as error:
        # "Line 1" would be the first of the row, which is whole in one.
        lines = [saying.replace("The body", "The row").replace("line 1, ", "") for saying in sayings(error)]
        return FileRow(
            number, {}, [re.sub(_UNKNOWN, lambda m: f"{m[1]}: Unknown field{_meant(m[1])}.", line) for line in lines]
        )
    except ValueError as error:
        return FileRow(number, {}, [str(error)])


def _object(text: bytes) -> dict[str, Any]:
    value = parse_json(text)
    if not isinstance(value, dict):
        raise ValueError("The row is not an object.")
    return value


def _named(names: list[str], cells: list[str]) -> dict[str, Any]:
    while len(cells) > len(names) and not cells[-1].strip():
        cells.pop()
    if len(cells) != len(names):
        raise ValueError(f"The row has {len(cells)} cells, but there are {len(names)} columns.")
    if any(map(_UNDECODED.search, cells)):
        raise ValueError("The row is not UTF-8.")
    project: dict[str, Any] = {
        name: cell if name in PROSE else cell.strip(SPACES) for name, cell in zip(names, cells, strict=True)
    }
    for name in BLANKABLE:
        if name in project:
            project[name] = project[name] if project[name].strip() else None
    if "tags" in project:
        project["tags"] = project["tags"].split()
    own = {name.removeprefix(PARAMETER): project.pop(name) for name in names if name.startswith(PARAMETER)}
    return {**project, OWN_FIELDS: _own(own)} if own else project


def _own(cells: dict[str, str]) -> dict[str, Any]:
    """The values of own fields in the cells of a row; an empty one is null."""
    defined, values = own_fields.present(), dict[str, Any]()
    for name, cell in cells.items():
        own = defined.get(name)
        if own is not None and own.kind is Kind.CHOICES:
            values[name] = [choice.strip() for choice in cell.split(CHOICES) if choice.strip()]
        else:
            values[name] = own_fields.typed(own, cell) if cell else None
    return values


def _own_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return CHOICES.join(value) if isinstance(value, list) else value


def _cell(value: Any) -> Any:
    if isinstance(value, datetime):
        return timestamp(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return " ".join(value) if isinstance(value, list) else value
