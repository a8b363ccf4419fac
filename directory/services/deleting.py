"""Deletes expired rows in small batches, and refuses to delete most of a table.

What has expired is a question of the clock, and a wrong clock, on SQLite that of the host, would empty a table whose
rows nobody can bring back.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, delete, func, literal, select

from directory.extensions import db, modify

FEW = 100  # rows that may always go, even if they are most of a table


class MostWouldGo(Exception):
    """More than half of a table has expired, if the clock is right. Nothing was deleted."""

    def __init__(self, table: str, ended: int, others: int) -> None:
        super().__init__(f"{ended:,} rows of {table} have expired, and only {others:,} have not")


def delete_some(model: Any, ended: ColumnElement[bool], most: int) -> int:
    """Delete at most `most` rows that match `ended`, and return the number. Locked rows are skipped."""
    ids = db.session.scalars(select(model.id).where(ended).limit(most).with_for_update(skip_locked=True))
    return modify(delete(model).where(model.id.in_(list(ids))))


def oldest_expired(model: Any, before: datetime, most: int, *, guarded: bool) -> list[int]:
    """The ids of at most `most` rows whose `at` is before an instant, of a table whose oldest rows have the lowest ids.

    Raises MostWouldGo if it is `guarded`.
    """
    if guarded:
        require_minority(model, model.at < before)
    oldest = select(model.id, model.at).order_by(model.id).limit(most)
    return [row.id for row in db.session.execute(oldest) if row.at < before]


def require_minority(model: Any, ended: ColumnElement[bool]) -> None:
    """Raise MostWouldGo if more than FEW rows, and more than half of the table, match `ended`."""
    some = select(literal(1)).select_from(model).where(ended).limit(FEW + 1)
    if _count(some) <= FEW:
        return
    number = _count(select(literal(1)).select_from(model).where(ended))
    # No more of the others are read than there are of these, however large the table is.
    others = _count(select(literal(1)).select_from(model).where(ended.is_not(True)).limit(number))
    if others < number:
        raise MostWouldGo(model.__tablename__, number, others)


def _count(rows: Any) -> int:
    return db.session.scalar(select(func.count()).select_from(rows.subquery())) or 0
