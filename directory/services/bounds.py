"""Tables that may have only so many rows."""

from typing import Any

from sqlalchemy import func, select, text

from directory.db.transactions import on_postgresql
from directory.errors import TooMany
from directory.extensions import db


def lock(model: Any) -> None:
    """Let one transaction at a time change a table; SQLite has one writer anyway."""
    if on_postgresql():
        db.session.execute(text(f"LOCK TABLE {model.__tablename__} IN SHARE ROW EXCLUSIVE MODE"))


def require_fewer(model: Any, most: int, refusal: TooMany) -> None:
    """Raise `refusal` if a table has `most` rows already.

    On PostgreSQL transactions that would add a row wait for this one, so that each counts the rows of the others.
    """
    lock(model)
    if (db.session.scalar(select(func.count()).select_from(model)) or 0) >= most:
        raise refusal
