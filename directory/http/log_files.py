"""The audit log as CSV (RFC 4180), in parts that are made in a bounded time, safe to open in a spreadsheet."""

import csv
import io
import re
from typing import Any

import orjson

from directory.db.paging import Position, Window
from directory.services import audit
from directory.services.clock import timestamp

ROWS_AT_ONCE = 1_000  # that one statement reads
PART_ROWS, PART_CHARACTERS, PART_STATEMENTS = 10_000, 8_000_000, 20  # a part ends after so many
HEADINGS = (
    "id", "at", "action", "actor_id", "actor", "project_id", "project", "user_id", "user", "from", "to", "reason",
    "changes", "votes",
)  # fmt: skip
BOM = "\ufeff"  # by it Excel reads the file as UTF-8
# A spreadsheet reads a cell that begins so as a formula (OWASP, "CSV Injection"), also in full width and after spaces.
FORMULA = re.compile(r"[\t\r\n]|[\s\0]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def part(window: Window, filters: audit.Filters) -> tuple[str, Position | None]:
    """The rows from a window on, with headings at the beginning of the log, and where the next part begins."""
    text = io.StringIO()
    table = csv.writer(text, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    if window.position is None:
        text.write(BOM)
        table.writerow(HEADINGS)
    rows = statements = 0
    while True:
        page = audit.entries(window, filters)
        table.writerows([_cell(value) for value in _row(entry)] for entry in page.items)
        rows, statements = rows + len(page.items), statements + 1
        ends = rows >= PART_ROWS or text.tell() >= PART_CHARACTERS or statements == PART_STATEMENTS
        if page.next is None or ends:
            return text.getvalue(), page.next
        window = Window(ROWS_AT_ONCE, page=None, position=page.next)


def _row(entry: dict[str, Any]) -> tuple[Any, ...]:
    actor, project, user = ({} if entry[name] is None else entry[name] for name in ("actor", "project", "user"))
    return (
        entry["id"], timestamp(entry["at"]), entry["action"], actor.get("id"), actor.get("username"),
        entry["project_id"], project.get("title"), entry["user_id"], user.get("username"),
        entry["from_state"], entry["to_state"], entry["reason"], _json(entry["changes"]), _json(entry["votes"]),
    )  # fmt: skip


def _json(value: Any) -> str | None:
    return None if value is None else orjson.dumps(value).decode()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value
