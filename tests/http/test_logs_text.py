"""Log lines for people: short, in printable characters, coloured on a terminal alone."""

import io
import json
import re

import pytest

from directory import logs
from directory.logs import JsonFormatter, RequestRecord, TextFormatter
from directory.services.catalog import catalog
from tests.http.test_logs import record, written_by
from tests.support.factories import Api


def text_of(record, *, colours=False):
    """The line of a record for people, without its time."""
    line = TextFormatter(colours=colours).format(record)
    time, _, rest = line.partition(" ")
    assert re.fullmatch(r"(\x1b\[2m)?\d\d:\d\d:\d\d(\x1b\[0m)?", time)
    return rest


ANSWERED = {"method": "GET", "path": "/api/projects", "status": 404, "ms": 1.2}


def test_people_read_a_request_as_one_short_line():
    assert text_of(RequestRecord(ANSWERED)) == "INFO    GET /api/projects 404 1.2 ms"


def test_people_read_what_a_call_adds_behind_the_message():
    refused = record("refused", code="not_owner", address="127.0.0.1", account_id=None)
    assert text_of(refused) == "INFO    refused code=not_owner address=127.0.0.1"


def test_only_where_they_are_wanted_the_lines_have_colours():
    assert text_of(RequestRecord(ANSWERED), colours=True) == "INFO    GET /api/projects \x1b[33m404\x1b[0m 1.2 ms"
    assert text_of(record("bad", levelname="ERROR"), colours=True) == "\x1b[31mERROR  \x1b[0m bad"


@pytest.mark.parametrize("forged", ["a\nb", "a\r\nb", "a\u2028b", "a\x85b", "\x1b[2J", "\x00", "\ud800", "\u202e"])
def test_no_value_breaks_a_line_for_people_or_reaches_the_terminal_raw(forged):
    for text in (
        text_of(record(forged, reason=forged)),
        text_of(RequestRecord({**ANSWERED, "path": forged})),
    ):
        assert text.isprintable()
    assert text_of(record("Grüße")) == "INFO    Grüße"


def test_people_read_a_traceback_on_lines_of_its_own():
    told = "first\nDETAIL: a row\n\x1b[2J"
    try:
        raise ValueError(told)
    except ValueError as error:
        text = text_of(record("failed", exc_info=(type(error), error, error.__traceback__)))
    head, *traceback = text.split("\n")
    assert head == "INFO    failed"
    assert all(line.startswith("    ") and line.isprintable() for line in traceback)
    assert "ValueError: first" in text
    assert "a row" not in text


def test_people_find_a_failed_request_by_its_id(monkeypatch, make_app):
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    app = make_app(LOG_LEVEL="INFO", LOG_FORMAT="text")
    monkeypatch.setattr(catalog, "page", lambda *_args, **_options: 1 / 0)
    Api(app).get("/api/projects", headers={"X-Request-ID": "the-id"})
    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("ERROR   unhandled exception request_id=the-id")
    assert re.fullmatch(r"\d\d:\d\d:\d\d INFO    GET /api/projects 500 [0-9.]+ ms", lines[-1])


class Terminal(io.StringIO):
    """A standard error that is a terminal."""

    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "style", "colours", "found"),
    [
        (io.StringIO, "", True, (JsonFormatter, None)),
        (Terminal, "", True, (TextFormatter, True)),
        (Terminal, "", False, (TextFormatter, False)),
        (Terminal, "json", True, (JsonFormatter, None)),
        (io.StringIO, "text", True, (TextFormatter, False)),
    ],
)
def test_a_terminal_has_text_with_colours_and_all_else_json_unless_the_setting_says_otherwise(
    monkeypatch, stream, style, colours, found
):
    monkeypatch.setattr("sys.stderr", stream())
    formatter = logs.formatter(style, colours=colours)
    assert (type(formatter), getattr(formatter, "_colours", None)) == found


def test_no_colour_codes_of_the_development_server_stand_in_a_line():
    coloured = {"name": "werkzeug", "args": ("\x1b[33mGET /x HTTP/1.1\x1b[0m", "404", "-")}
    assert json.loads(written_by(record('"%s" %s %s', **coloured)))["message"] == '"GET /x HTTP/1.1" 404 -'
    assert text_of(record('"%s" %s %s', **coloured)) == 'INFO    "GET /x HTTP/1.1" 404 -'
    other = {"name": "directory.x", "path": "\x1b[33m"}
    assert json.loads(written_by(record("x", **other)))["path"] == "\x1b[33m"
