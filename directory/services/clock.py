"""The database's clock, asked in a statement: for due times, leases and everything whose end deletes rows.

`models.now` follows the same clock without a statement, and is right to within seconds.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import func, select

from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.models import now
from directory.models.base import UtcDateTime


def database_clock() -> datetime:
    """The present instant by the database's clock."""
    if on_postgresql():
        return db.session.scalars(select(at_once())).one()  # type: ignore[no-any-return]
    return now()


def at_once() -> Any:
    """The same as a value to store, without a statement of its own."""
    return func.clock_timestamp(type_=UtcDateTime()) if on_postgresql() else now()
