"""flask import: files as programs save them. What cannot be read is refused whole, by one line that says what it is."""

import gzip
import json
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from directory.cli import file_kinds
from tests.cli.test_cli_import import importer, jsonl, project, stored
from tests.support.factories import World

HEADER = "title,tagline,url,category\n"
CAFE = HEADER + "Plain,It,https://plain.example,tools\nCafé,Für “alle” – schön,https://cafe.example,tools\n"


@pytest.fixture
def run(app: Flask, world: World) -> Any:
    world.category("tools")
    world.admin("boss")
    return importer(app)


def workbook() -> bytes:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return file.getvalue()


ROWS = [project(1), project(2)]
KINDS = {
    "array": (json.dumps(ROWS).encode(), "one JSON array"),
    "pretty array": (b"\xef\xbb\xbf\n" + json.dumps(ROWS, indent=2).encode(), "one JSON array"),
    "pretty object": (json.dumps(ROWS[0], indent=2).encode(), "JSON with objects over several lines"),
    "pretty object, begun in one line": (b'{"title": "A",\n"tagline": "B"}\n', "JSON with objects over several lines"),
    "xlsx": (workbook(), "a spreadsheet"), "xls": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "a spreadsheet"),
    "gz": (gzip.compress(jsonl(*ROWS)), "compressed by gzip"), "png": (b"\x89PNG\r\n\x1a\n" + bytes(9), "a picture"),
    "sqlite": (b"SQLite format 3\x00" + bytes(99), "a SQLite database"),
    "binary": (b"\x7fELF\x02\x01\x00" * 9, "not text"),
    "html": (b"<!doctype html><title>Sign in</title>", "HTML or XML"), "csv": (CAFE.encode(), "CSV. Give its format"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_without_rows_is_refused_whole_by_a_line_that_says_what_it_is(app: Flask, run: Any, kind: str) -> None:
    data, says = KINDS[kind]
    result = run(data)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith(f"Error: The file is {says}")
    assert result.stderr.count("\n") == 1
    assert stored(app) == []


def test_json_in_the_place_of_a_table_is_named(run: Any) -> None:
    assert "JSON, and not CSV. Give its format, --format jsonl" in run(jsonl(*ROWS), "--format", "csv").stderr
    assert run(workbook(), "--format", "csv").stderr.startswith("Error: The file is a spreadsheet")


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_another_encoding_is_refused_before_any_row_and_named_by_the_option(app: Flask, run: Any, form: str) -> None:
    rows = [project(1, title="Plain"), project(2, title="Café")]
    text = CAFE if form == "csv" else "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    data = text.encode("windows-1252")
    refused = run(data, "--format", form)
    assert (refused.exit_code, refused.stdout, stored(app)) == (1, "", [])
    line = 3 if form == "csv" else 2
    assert refused.stderr == f"Error: {file_kinds.NOT_UTF_8.format(line)}\n"
    taken = run(data, "--format", form, "--encoding", "windows-1252")
    assert (taken.exit_code, taken.stdout) == (0, "imported 2, unchanged 0, refused 0\n")
    assert [row.title for row in stored(app)] == ["Plain", "Café"]


def test_a_bad_cell_of_a_table_in_utf_8_costs_its_row(app: Flask, run: Any) -> None:
    bad = b"Caf\xe9,It,https://other.example,tools\n"
    result = run(CAFE.encode() + bad, "--format", "csv")
    assert (result.stdout, result.stderr) == ("imported 2, unchanged 0, refused 1\n", "line 4: The row is not UTF-8.\n")


@pytest.mark.parametrize("name", ["none", "zip", "rot13", "", "a\0b"])
def test_an_encoding_that_is_none_is_refused(run: Any, name: str) -> None:
    result = run(CAFE.encode(), "--encoding", name)
    assert (result.exit_code, "There is no encoding" in result.stderr) == (2, True)


def test_what_is_not_in_the_given_encoding_is_named_by_its_line(run: Any) -> None:
    result = run(CAFE.encode("utf-8") + b"\x81\n", "--format", "csv", "--encoding", "ascii")
    assert result.stderr == "Error: line 3: The file is not in the encoding ascii.\n"
    assert run(CAFE.encode("utf-16"), "--format", "csv", "--encoding", "utf-16").exit_code == 0


def test_spaces_of_every_width_are_trimmed(app: Flask, run: Any) -> None:
    table = (
        HEADER.replace("url", "\u00a0URL\u3000")
        + "\u3000A\u00a0,\u2003B,\u00a0https://a.example\u3000,\u00a0tools\u3000\n"
    )
    assert run(table.encode(), "--format", "csv").stdout == "imported 1, unchanged 0, refused 0\n"
    spaced = project(
        2, title="\u3000B\u200b", category="tools\u00a0", tags=["\u3000cli\u00a0"], url="\ufeffhttps://b.example "
    )
    assert run([spaced]).stdout == "imported 1, unchanged 0, refused 0\n"
    assert [(row.title, row.url, row.tags) for row in stored(app)] == [
        ("A", "https://a.example", []), ("B", "https://b.example", ["cli"]),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("heading", "meant"),
    [
        ("repo_url", "repository_url"),
        ("Website", "url"),
        ("Name", "title"),
        ("taglines", "tagline"),
        ("GitHub", "repository_url"),
    ],
)
def test_an_unknown_heading_comes_with_the_one_that_is_meant(run: Any, heading: str, meant: str) -> None:
    result = run(f"{HEADER.strip()},{heading}\n".encode(), "--format", "csv")
    assert result.stderr == f"Error: line 1: Unknown column: {heading.lower()!r} (did you mean `{meant}`?).\n"
    result = run([project(1, **{heading: "x"})])
    assert result.stderr == f"line 1: {heading}: Unknown field (did you mean `{meant}`?).\n"


def test_a_date_alone_is_midnight_in_utc(app: Flask, run: Any) -> None:
    assert run([project(1, created_at="2020-01-02")], "--keep-dates").exit_code == 0
    assert stored(app)[0].created_at.isoformat() == "2020-01-02T00:00:00+00:00"
    assert "created_at: " in run([project(2, created_at="2020-02-30")], "--keep-dates").stderr


def test_a_pipe_is_kept_aside_so_that_it_is_looked_at_first(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = BytesIO(b"a" * 100)
    monkeypatch.setattr(pipe, "seekable", lambda: False)
    monkeypatch.setattr(file_kinds, "KEPT_IN_MEMORY", 10)
    with file_kinds.seekable(pipe) as kept:
        assert (kept.read(), kept is pipe) == (b"a" * 100, False)


def test_a_large_file_is_looked_at_in_parts(
    app: Flask, run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_kinds, "READ_AT_ONCE", 16)
    file = tmp_path / "rows.csv"
    file.write_bytes(CAFE.encode())
    assert run(b"", file=str(file)).stdout == "imported 2, unchanged 0, refused 0\n"
    file.write_bytes(CAFE.encode("windows-1252"))
    assert run(b"", file=str(file)).stderr == f"Error: {file_kinds.NOT_UTF_8.format(3)}\n"
