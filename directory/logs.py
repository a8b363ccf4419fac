"""Log lines: one JSON object a line, with the id of the request that it belongs to."""

import json
import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any

from flask import g, has_app_context

DETAIL = re.compile(r"\n(?:DETAIL|CONTEXT): .*")
STANDARD = {*vars(logging.makeLogRecord({})), "message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON; what a call passes as `extra` becomes members."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, in ASCII: no value can forge a second one, by whatever it is that a viewer breaks lines at."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if has_app_context() and "request_id" in g:
            line["request_id"] = g.request_id
        line |= {name: value for name, value in vars(record).items() if name not in STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        # Not orjson: it leaves U+2028 and terminal controls as they are, and refuses lone surrogates and large numbers.
        return json.dumps(line, default=str, separators=(",", ":"))

    def formatException(self, ei: Any) -> str:  # noqa: N802 (logging's own name)
        """The traceback, without the lines in which PostgreSQL repeats the values of a row."""
        return DETAIL.sub("", super().formatException(ei))


def configure(level: str) -> None:
    """Send every record to standard error once: the service's from `level` on, of other libraries the warnings."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    others = [each for each in root.handlers if not isinstance(each.formatter, JsonFormatter)]
    root.handlers = [*others, handler]
    for name in ("directory", "flask-limiter", "alembic.runtime.migration"):
        logging.getLogger(name).setLevel(level)
