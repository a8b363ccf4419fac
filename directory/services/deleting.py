"""Deletes rows that have had their time, a few at once."""

from typing import Any

from sqlalchemy import ColumnElement, delete, select

from directory.extensions import UNSYNCHRONISED, db


def delete_some(model: Any, ended: ColumnElement[bool], most: int) -> int:
    """Delete rows that match `ended`, at most so many, and return how many. Rows that others have locked are left."""
    ids = db.session.scalars(select(model.id).where(ended).limit(most).with_for_update(skip_locked=True))
    gone = delete(model).where(model.id.in_(list(ids)))
    return int(db.session.execute(gone, execution_options=UNSYNCHRONISED).rowcount)  # type: ignore[attr-defined]
