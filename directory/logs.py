"""Log lines: JSON for programs, text for people, each with the id of the request that it belongs to."""

import io
import json
import logging
import os
import re
import sys
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TextIO

import orjson
from flask import g, has_app_context

DETAIL = re.compile(r"\n(?:DETAIL|CONTEXT): .*")
COLOUR_CODE = re.compile(r"\x1b\[[0-9;]*m")
ENCODER = json.JSONEncoder(default=str, separators=(",", ":"), check_circular=False)
NATIVE = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_PASSTHROUGH_DATACLASS  # what has a form of its own in our lines
STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}
ACCESS = "directory.access"
DIM, RED, GREEN, YELLOW, CYAN = "2", "31", "32", "33", "36"
BY_LEVEL = {"debug": DIM, "warning": YELLOW, "error": RED, "critical": RED}
BY_STATUS = {2: GREEN, 3: CYAN, 4: YELLOW, 5: RED}


class RequestRecord(logging.LogRecord):
    """The record of a request: its facts as attributes, and together as `facts`.

    It copies the attributes that all such records share: to make each record from nothing takes as long as to write it.
    """

    facts: dict[str, Any]
    SHARED = vars(
        logging.makeLogRecord({
            "name": ACCESS, "levelno": logging.INFO, "levelname": "INFO", "msg": "request",
            "process": None, "processName": None, "thread": None, "threadName": None,
        })
    )  # fmt: skip

    def __init__(self, facts: dict[str, Any]) -> None:
        created = time.time()
        self.__dict__ = {**self.SHARED, **facts, "created": created, "msecs": created % 1 * 1000, "facts": facts}


class Formatter(logging.Formatter):
    """The fields that the lines of both forms have in common."""

    def formatException(self, ei: Any) -> str:  # noqa: N802 (logging's own name)
        """The traceback, without the lines in which PostgreSQL repeats the values of a row."""
        return DETAIL.sub("", super().formatException(ei))

    def message(self, record: logging.LogRecord) -> str:
        """The message, without the colour codes that the server of `flask run` puts into its own."""
        text = record.getMessage()
        return COLOUR_CODE.sub("", text) if record.name == "werkzeug" else text


class JsonFormatter(Formatter):
    """A record as one line of JSON; what a call passes as `extra` becomes members."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, in ASCII: no value can forge a second one, by whatever it is that a viewer breaks lines at."""
        line: dict[str, Any] = {
            "time": f"{_second(int(record.created))}.{int(record.created % 1 * 1000):03}+00:00",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self.message(record),
        }
        if isinstance(record, RequestRecord):
            line |= record.facts  # with the request's id
        else:
            if identity := request_id():
                line["request_id"] = identity
            line |= _extras(record)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _encoded(line)


class TextFormatter(Formatter):
    """A record as a line for people: time, level, message, and what a call passes as `extra`."""

    def __init__(self, *, colours: bool) -> None:
        super().__init__()
        self._colours = colours

    def format(self, record: logging.LogRecord) -> str:
        """The line, in printable characters alone; a traceback follows on lines of its own."""
        level = record.levelname.lower()
        clock = datetime.fromtimestamp(record.created, UTC).astimezone().strftime("%H:%M:%S")
        text = self._request(record.facts) if isinstance(record, RequestRecord) else self._other(record)
        line = f"{self._painted(clock, DIM)} {self._painted(f'{level.upper():<7}', BY_LEVEL.get(level))} {text}"
        if record.exc_info:
            line += "".join(f"\n    {_printable(part)}" for part in self.formatException(record.exc_info).split("\n"))
        return line

    def _request(self, facts: dict[str, Any]) -> str:
        status = self._painted(str(facts["status"]), BY_STATUS.get(facts["status"] // 100))
        return f"{_printable(facts['method'])} {_printable(facts['path'])} {status} {facts['ms']} ms"

    def _other(self, record: logging.LogRecord) -> str:
        extras = {name: value for name, value in _extras(record).items() if value is not None}
        if record.levelno >= logging.WARNING and (identity := request_id()):
            extras["request_id"] = identity
        return _printable(" ".join([self.message(record), *(f"{name}={value}" for name, value in extras.items())]))

    def _painted(self, text: str, colour: str | None) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._colours and colour else text


def request_id() -> str | None:
    """The id of the request that is handled now, if there is one."""
    return g.exchange.id if has_app_context() and "exchange" in g else None


@lru_cache(maxsize=2)
def _second(timestamp: int) -> str:
    """The UTC date and time of a second, made once for all its lines."""
    return datetime.fromtimestamp(timestamp, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def _extras(record: logging.LogRecord) -> dict[str, Any]:
    return {name: value for name, value in vars(record).items() if name not in STANDARD}


def _printable(text: str) -> str:
    """The text with everything escaped that a terminal may act on or break lines at."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _encoded(line: dict[str, Any]) -> str:
    """The line as JSON in printable ASCII.

    By orjson, in a fifth of the time, wherever the result is the same: it leaves U+2028 and terminal controls as they
    are, and refuses lone surrogates and large numbers.
    """
    try:
        quick = orjson.dumps(line, option=NATIVE).decode()
    except TypeError:
        return ENCODER.encode(line)
    return quick if quick.isascii() and "\x7f" not in quick else ENCODER.encode(line)


class NoLock(nullcontext[None]):
    """The lock of a handler that needs none: Python 3.13 enters it, earlier versions acquire and release it."""

    def acquire(self) -> None:
        """Do nothing."""

    def release(self) -> None:
        """Do nothing."""


class Lines(logging.StreamHandler[TextIO]):
    """Writes each line by one call and so needs no lock: threads that log at once do not queue behind each other."""

    def createLock(self) -> None:  # noqa: N802 (logging's own name)
        """Use a lock that does nothing."""
        self.lock = NoLock()  # type: ignore[assignment]

    def emit(self, record: logging.LogRecord) -> None:
        """Write the record; errors are reported as the logging module does."""
        try:
            line = self.format(record) + self.terminator
            try:
                os.write(self.stream.fileno(), line.encode())
            except io.UnsupportedOperation:  # a stream that is not a file
                self.stream.write(line)
        except Exception:
            self.handleError(record)


def is_text(style: str) -> bool:
    """Whether log lines are for people: by LOG_FORMAT, or if it is not set, on a terminal."""
    return style == "text" if style else sys.stderr.isatty()


def formatter(style: str, *, colours: bool) -> Formatter:
    """The formatter that LOG_FORMAT asks for; only a terminal gets colours."""
    return TextFormatter(colours=colours and sys.stderr.isatty()) if is_text(style) else JsonFormatter()


def configure(level: str, style: str = "", *, colours: bool = False) -> None:
    """Send every record to standard error once: the service's from `level` on, of other libraries the warnings."""
    # Our lines do not show these values, so they are not collected, as the library's documentation advises for speed.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    handler = Lines(sys.stderr)
    handler.setFormatter(formatter(style, colours=colours))
    root = logging.getLogger()
    others = [other for other in root.handlers if not isinstance(other.formatter, Formatter)]
    root.handlers = [*others, handler]
    for name in ("directory", "flask-limiter", "alembic.runtime.migration"):
        logging.getLogger(name).setLevel(level)
