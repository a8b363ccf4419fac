"""Deletes expired rows in small batches."""

from typing import Any

from sqlalchemy import ColumnElement, delete, select

from directory.extensions import db, modify


def delete_some(model: Any, ended: ColumnElement[bool], most: int) -> int:
    """Delete at most `most` rows that match `ended`, and return the number. Locked rows are skipped."""
    ids = db.session.scalars(select(model.id).where(ended).limit(most).with_for_update(skip_locked=True))
    return modify(delete(model).where(model.id.in_(list(ids))))
