"""Parts of several commands: one line for errors that an operator can fix, tables, and a bar on a terminal."""

import io
import sys
from typing import Any

import click
import pytest
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from directory.cli.console import Progress, count, refusals, table
from directory.errors import Invalid, NotFound
from directory.extensions import db
from tests.conftest import build


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def refused(error: Exception) -> str:
    """The line that an error becomes."""
    with pytest.raises(click.ClickException) as caught, refusals():
        raise error
    return caught.value.message


def test_a_refusal_becomes_one_line() -> None:
    assert refused(NotFound("No such thing.")) == "No such thing."
    several = Invalid([{"pointer": "#/url", "detail": "Bad."}, {"pointer": "#/tags/1", "detail": "Worse."}])
    assert refused(several) == "url: Bad.; tags/1: Worse."


def test_a_database_without_tables_asks_for_its_migrations(app: Flask) -> None:
    with app.app_context(), pytest.raises(click.ClickException, match="run `flask db upgrade` first"), refusals():
        db.session.execute(text("SELECT * FROM nothing_of_that_name"))


@pytest.mark.parametrize(
    "url",
    ["postgresql+psycopg://nobody@127.0.0.1:1/none", "sqlite:////nowhere/at/all.db"],
    ids=["postgresql", "sqlite"],
)
def test_a_database_out_of_reach_is_said_in_one_line(url: str) -> None:
    result = build(url).test_cli_runner(catch_exceptions=False).invoke(args=["users", "list"])
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: The database does not answer: ")
    assert result.stderr.count("\n") == 1


def test_a_pool_without_a_free_connection_is_said_too() -> None:
    assert refused(PoolTimeout("all are taken")) == "The database does not answer: all are taken"


def test_a_fault_of_ours_is_not_dressed_up() -> None:
    fault: SQLAlchemyError = ProgrammingError("SELEC", None, ValueError("syntax"))
    with pytest.raises(ProgrammingError), refusals():
        raise fault


def test_a_terminal_sees_a_bar_and_lines_above_it(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    with Progress(10, "Working") as progress:
        progress.advance(3)
        progress.note("line 4: bad")
        progress.reach(10)
    shown = screen.getvalue()
    assert "\r\x1b[Kline 4: bad\n" in shown
    assert "100%" in shown.partition("line 4")[2]


@pytest.mark.parametrize(("stream", "length"), [(io.StringIO, 10), (Terminal, 0)])
def test_nobody_sees_a_bar_in_a_file_or_one_without_an_end(
    monkeypatch: pytest.MonkeyPatch, stream: Any, length: int
) -> None:
    screen = stream()
    monkeypatch.setattr(sys, "stderr", screen)
    with Progress(length, "Working") as progress:
        progress.advance(3)
        progress.note("line 4: bad")
    assert screen.getvalue() == "line 4: bad\n"


def test_a_table_is_as_wide_as_what_it_holds_with_numbers_at_the_right() -> None:
    assert table(("NAME", "VOTES"), [("ida", 7), ("barbara", 12)]).splitlines() == [
        "NAME     VOTES",
        "ida          7",
        "barbara     12",
    ]
    assert table(("NAME", "VOTES"), []) == "NAME  VOTES"


def test_numbers_go_with_their_nouns() -> None:
    assert [count(n, "vote") for n in (0, 1, 3000)] == ["0 votes", "1 vote", "3,000 votes"]
    assert count(2, "category", "categories") == "2 categories"


@pytest.mark.parametrize(
    "command",
    [
        "seed", "import -", "recount", "users create-admin", "users promote x", "users demote x", "users suspend x",
        "users activate x", "users set-password x --password x", "webhooks redeliver --dead", "db upgrade",
        "copy --from sqlite:////nowhere/x.db",
    ],
)  # fmt: skip
def test_a_command_that_writes_names_its_database_first_on_standard_error(make_app, database, command):
    run = make_app(LOG_LEVEL="INFO").test_cli_runner().invoke
    shown = database.url.replace(":secret@", ":***@")
    assert run(args=command.split(), input="").stderr.splitlines()[0] == f"Database: {shown}"


def test_a_command_that_reads_names_none_and_the_level_of_the_log_can_leave_it_out(make_app):
    quiet, told = make_app(LOG_LEVEL="WARNING").test_cli_runner(), make_app(LOG_LEVEL="INFO").test_cli_runner()
    assert "Database:" in told.invoke(args=["users", "promote", "x"]).stderr
    assert "Database:" not in told.invoke(args=["users", "list"]).stderr
    make_app(LOG_LEVEL="WARNING")
    assert "Database:" not in quiet.invoke(args=["users", "promote", "x"]).stderr


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql+psycopg://u:hunter2@h:5432/d", "postgresql+psycopg://u:***@h:5432/d"),
        ("postgresql+psycopg://u@h/d?password=hunter2&sslpassword=hunter2", "postgresql+psycopg://u@h/d"),
        (
            "postgresql+psycopg://u@/d?host=a,b&target_session_attrs=any",
            "postgresql+psycopg://u@/d?host=a%2Cb&target_session_attrs=any",
        ),
    ],
)
def test_a_database_is_named_without_its_password(url, shown):
    app = build(url)
    with app.app_context():
        assert db.address == shown
