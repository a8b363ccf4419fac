"""Log lines: one JSON object a line, with the id of the request that it belongs to."""

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import orjson
from flask import g, has_request_context

STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; what a call passes as `extra` becomes members."""

    def format(self, record: logging.LogRecord) -> str:
        """The line. Line breaks in values are escaped by JSON, so that nobody can forge one."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if has_request_context() and "request_id" in g:
            line["request_id"] = g.request_id
        line |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str, option=orjson.OPT_NON_STR_KEYS).decode()


def configure(level: str) -> None:
    """Send the service's and its libraries' records to standard error, once, from `level` on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for name in ("directory", "flask-limiter", "alembic.runtime.migration"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(level)
        logger.propagate = False
