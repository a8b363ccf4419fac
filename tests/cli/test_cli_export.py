"""flask export, and CSV both ways: what goes out comes in again as it was."""

import errno
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from flask import Flask

from directory.cli import output as command
from directory.cli import transfer
from directory.cli.rows import FIELDS
from directory.services.data import import_export
from tests.cli.test_cli_console import Terminal
from tests.support.factories import World

AWKWARD = {
    "title": '=SUM("A1"), or so',
    "tagline": "+49 30, 'quoted' — and 日本語 🎉",
    "description": 'First line,\nsecond "line"\n\n\tindented; =1+1\n',
    "url": "https://example.org/a?b=1,2&c=%22",
    "tags": ["one", "two-three"],
}


@pytest.fixture
def run(app: Flask) -> Any:
    """Runs a command."""
    runner = app.test_cli_runner(catch_exceptions=False)
    return lambda *arguments, **options: runner.invoke(args=list(map(str, arguments)), **options)


def lines(result: Any) -> list[dict[str, Any]]:
    return [json.loads(line) for line in result.stdout.splitlines()]


def writable(result: Any) -> list[dict[str, Any]]:
    return [{name: row[name] for name in import_export.WRITABLE} for row in lines(result)]


def test_every_project_is_a_row_with_what_a_submission_says_and_what_became_of_it(run: Any, world: World) -> None:
    ida = world.user("ida")
    numbers = [world.project(ida, status=status, **fields) for status, fields in (("live", AWKWARD), ("rejected", {}))]
    result = run("export")
    assert result.exit_code == 0
    rows = lines(result)
    assert [list(row) for row in rows] == [list(FIELDS)] * 2
    assert [row["id"] for row in rows] == numbers
    first = rows[0]
    assert {name: first[name] for name in AWKWARD} == AWKWARD
    assert (first["category"], first["owner"], first["status"], first["logo_url"]) == ("tools", "ida", "live", None)
    assert first["created_at"].endswith("Z")
    assert rows[1]["published_at"] is None


def test_changes_that_wait_for_review_are_not_in_the_file_and_it_says_so(run: Any, world: World) -> None:
    ida = world.user("ida")
    for number in (world.project(ida), world.project(ida)):
        world.revise(number, ida, title="Another title")
    said = "Not in the file: changes of 2 projects that wait for review. flask copy and flask backup keep them.\n"
    assert [run("export", *options).stderr for options in ([], ["--status", "live"])] == [said] * 2
    assert run("export", "--status", "rejected").stderr == ""


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_is_imported_again_without_a_change(run: Any, world: World, tmp_path: Path, form: str) -> None:
    world.admin("boss")
    world.project(**AWKWARD)
    links = {"repository_url": "https://git.example.org/x", "logo_url": "https://example.org/x.png"}
    world.project(**links, author="Grüße, Ltd.", status="pending")
    world.project(status="rejected")
    file = tmp_path / f"projects.{form}"
    assert run("export", "--output", file).output == ""
    assert run("import", file, "--owner", "boss").stdout == "imported 3, unchanged 0, refused 0\n"
    exported = run("export")
    rows = [(row["status"], row["rejection_reason"]) for row in lines(exported)]
    assert rows == [("live", None), ("pending", None), ("rejected", "Not yet.")] * 2
    first, second, third, *again = writable(exported)
    assert again == [first, second, third]


def test_an_export_of_nothing_is_empty_and_a_table_still_has_its_header(run: Any) -> None:
    assert run("export").stdout == ""
    assert run("export", "--format", "csv").stdout == ",".join(name for name in FIELDS if name != "fields") + "\n"


def test_a_state_can_be_asked_for(run: Any, world: World) -> None:
    for status in ("live", "pending", "rejected"):
        world.project(status=status)
    assert [row["status"] for row in lines(run("export", "--status", "pending"))] == ["pending"]


def test_rows_are_read_by_chunks_in_the_order_of_their_ids(
    run: Any, world: World, statements: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_export, "READ_AT_ONCE", 2)
    ida = world.user("ida")
    ids = [world.project(ida, status="pending") for _ in range(5)]
    del statements[:]
    assert [row["id"] for row in lines(run("export"))] == ids
    assert sum("FROM projects" in statement for statement in statements) == 4


def test_no_transaction_is_held_while_the_reader_takes_its_time(app: Flask, world: World) -> None:
    first, second = world.project(title="Before"), world.project(title="Before")
    with app.app_context():
        rows = import_export.given()
        assert next(rows)["id"] == first
        assert not import_export.db.session().in_transaction()
        assert next(rows)["id"] == second


def test_a_file_takes_its_name_when_it_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "projects.jsonl"
    file.write_text("before")

    def write(error: Exception | None) -> None:
        with command.opened(str(file)) as opened:
            opened.write("after")
            if error:
                raise error

    with pytest.raises(ZeroDivisionError):
        write(ZeroDivisionError())
    assert file.read_text() == "before"
    write(None)
    assert file.read_text() == "after"
    assert os.listdir(tmp_path) == ["projects.jsonl"]


def test_a_device_is_written_to_and_not_replaced(run: Any, world: World) -> None:
    world.project()
    assert run("export", "--output", "/dev/null").exit_code == 0
    assert not Path("/dev/null").is_file()


def test_a_file_that_cannot_be_written_is_named(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "missing" / "projects.csv"
    result = run("export", "--output", file)
    assert (result.exit_code, result.stderr) == (1, f"Error: {file}: No such file or directory\n")


def test_a_reader_who_has_seen_enough_is_no_fault() -> None:
    with pytest.raises(BrokenPipeError), command.opened("-"):
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    with pytest.raises(click.ClickException, match="-: No space left"), command.opened("-"):
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(("output", "shown"), [("-", False), ("rows.jsonl", True)])
def test_a_bar_is_kept_out_of_rows_on_a_terminal(
    app: Flask, world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str, shown: bool
) -> None:
    world.project()
    out, err = Terminal(), Terminal()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    with app.app_context():
        transfer.export_projects.main(["--output", output], standalone_mode=False)
    assert ("Exporting" in err.getvalue()) is shown
    assert "Exporting" not in out.getvalue()


HEADER = b"title,tagline,url,category,tags,repository_url,id\n"
GOOD = b"Good,Tagline,https://example.org/good,tools,,,\n"


@pytest.fixture
def table(run: Any, world: World) -> Any:
    """Imports a CSV table."""
    world.admin("boss")
    world.category("tools")
    return lambda data: run("import", "-", "--format", "csv", input=data)


@pytest.mark.parametrize(
    ("cells", "says"),
    [
        (b"A,B,https://example.org/,tools,,\n", "The row has 6 cells, but there are 7 columns."),
        (b"A,B,https://example.org/,tools,,,1,2\n", "The row has 8 cells, but there are 7 columns."),
        (b"\xff,B,https://example.org/,tools,,,\n", "The row is not UTF-8."),
        (b"A,B,https://example.org/,tools,a a,,\n", "tags: The same tag is given twice."),
        (b",B,https://example.org/,tools,,,\n", "title: Must not be blank."),
        (b"A,B,https://example.org/,tools,,git,\n", "repository_url: Must be an absolute URL that begins"),
        (b'"A"x,B,https://example.org/,tools,,,\n', "The row is not CSV: "),
    ],
)
def test_a_bad_row_of_a_table_is_named_by_the_line_it_begins_in(table: Any, cells: bytes, says: str) -> None:
    two_lines = b'"Two\nlines",B,https://example.org/two,tools,,,\n'
    result = table(HEADER + two_lines + b"\n" + cells + GOOD)
    assert result.exit_code == 1
    first, second = result.stderr.splitlines()
    assert first == "line 2: title: Must not contain line breaks or control characters."
    assert second.startswith(f"line 5: {says}")
    assert result.stdout == "imported 1, unchanged 0, refused 2\n"


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (b"title,tagline,url,category,colour\n", "Unknown column: 'colour'."),
        (b"title,tagline,url,category,url\n", "Repeated column: 'url'."),
        (b"title,tagline\n", "Missing column: 'url', 'category'."),
        (b"", "Missing column: 'title', 'tagline', 'url', 'category'."),
        (b'"title"x,tagline\n', "The header is not CSV: ',' expected after '\"'."),
    ],
)
def test_a_table_with_a_bad_header_is_refused_as_a_whole(table: Any, header: bytes, says: str) -> None:
    result = table(header + GOOD if header else b"")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: line 1: {says}\n"


def test_columns_may_be_left_out_and_stand_in_any_order(table: Any, run: Any) -> None:
    assert table(b"category,url,tagline,title\ntools,https://example.org/,B,A\n").exit_code == 0
    row = lines(run("export"))[0]
    assert (row["title"], row["description"], row["tags"], row["logo_url"]) == ("A", "", [], None)


def test_a_file_that_is_replaced_keeps_its_permissions(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "all.jsonl"
    for mode in (0o600, 0o640):
        file.touch()
        file.chmod(mode)
        assert run("export", "--output", file).exit_code == 0
        assert file.stat().st_mode & 0o777 == mode


def test_an_output_without_a_name_is_refused(run: Any) -> None:
    result = run("export", "--output", "")
    assert (result.exit_code, "--output" in result.stderr) == (2, True)


def test_a_new_file_is_readable_by_its_owner_alone(run: Any, tmp_path: Path) -> None:
    assert run("export", "--output", tmp_path / "all.csv").exit_code == 0
    assert (tmp_path / "all.csv").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("before", [None, "precious"])
def test_a_signal_that_ends_an_export_leaves_no_part_of_it(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, before: str | None
) -> None:
    file = tmp_path / "projects.jsonl"
    if before is not None:
        file.write_text(before)

    def rows(*_: Any, **_options: Any) -> Any:
        os.kill(os.getpid(), number)
        yield {"title": "half"}

    monkeypatch.setattr(import_export, "given", rows)
    inherited = signal.signal(number, signal.SIG_DFL)  # the suite may run under nohup
    try:
        assert run("export", "--output", file).exit_code == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, inherited)
    assert [path.read_text() for path in tmp_path.iterdir()] == ([] if before is None else [before])


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As `nohup` ignores one."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with command.opened(str(tmp_path / "file")) as file:
            os.kill(os.getpid(), signal.SIGHUP)
            file.write("whole")
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (tmp_path / "file").read_text() == "whole"
