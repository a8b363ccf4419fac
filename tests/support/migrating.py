"""The statements that a migration sends to the database."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, event

from directory.extensions import db

FIRST_ROWS = ("INSERT INTO rules", "INSERT INTO saved_replies")  # of new tables, which others do not use yet


class Run:
    """The statements of a migration: `before` is called with each that is in no short transaction, and its number."""

    def __init__(self, before: Callable[[str, int], None]) -> None:
        self.before = before
        self.number, self.is_begun, self.is_inside, self.is_busy = 0, False, False, False
        self.written: list[int] = []  # the rows that each statement wrote
        self.tried_again = 0

    def note(self, _conn: Connection, _cursor: Any, statement: str, *_rest: Any) -> None:
        if self.is_busy:
            return
        if self.is_begun and (not self.is_inside or statement in {"COMMIT", "ROLLBACK"}):
            self.number += 1
            self.is_busy = True
            try:
                self.before(statement.strip(), self.number)
            finally:
                self.is_busy = False
        self.is_begun |= statement.startswith("SELECT alembic_version")  # what comes before changes nothing
        self.tried_again += statement == "ROLLBACK"
        self.is_inside = statement == "BEGIN" or (self.is_inside and statement not in {"COMMIT", "ROLLBACK"})

    def count(self, _conn: Connection, cursor: Any, statement: str, *_rest: Any) -> None:
        if statement.startswith(FIRST_ROWS):
            return
        if not self.is_busy and statement.strip().startswith(("INSERT", "UPDATE", "DELETE")):
            self.written.append(cursor.rowcount)

    @contextmanager
    def listening(self) -> Iterator[None]:
        event.listen(db.engine, "before_cursor_execute", self.note)
        event.listen(db.engine, "after_cursor_execute", self.count)
        try:
            yield
        finally:
            event.remove(db.engine, "before_cursor_execute", self.note)
            event.remove(db.engine, "after_cursor_execute", self.count)
