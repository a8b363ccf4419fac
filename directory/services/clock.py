"""The database's clock, asked in a statement: for due times, leases and everything whose end deletes rows.

`models.now` follows the same clock without a statement, and is right to within seconds.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import orjson
from sqlalchemy import func, select

from directory.db.transactions import insert_into, on_postgresql
from directory.extensions import db, modify
from directory.models import KnownTime, Message, Project, User, now
from directory.models.base import UtcDateTime

STEP = timedelta(days=1)  # a clock that is further ahead of the last known time has jumped


class ClockJumped(Exception):
    """The clock has jumped ahead, so that nothing may be done because its time has come."""

    def __init__(self, at: datetime, known: datetime) -> None:
        super().__init__(f"the clock says {at:%Y-%m-%d %H:%M}, and {known:%Y-%m-%d %H:%M} is the last known time")


def confirm(*, is_right: bool = False) -> int:
    """Take the present instant for right, and note it. A person may say that it `is_right`.

    In a new database the time of what was stored last is the last known one. Raises ClockJumped.
    """
    at = database_clock()
    known = db.session.scalar(select(KnownTime.at)) or max(_stored_last(), default=at)
    if at - known > STEP and not is_right:
        raise ClockJumped(at, known)
    noting = insert_into(KnownTime).values(name="housekeeping", at=at)
    modify(noting.on_conflict_do_update(index_elements=["name"], set_={"at": at}))
    return 1


def _stored_last() -> Iterator[datetime]:
    """The times of the newest account, project and entry of a thread."""
    for table, time in ((User, User.created_at), (Project, Project.created_at), (Message, Message.at)):
        yield from db.session.scalars(select(time).order_by(table.id.desc()).limit(1))


def database_clock() -> datetime:
    """The present instant by the database's clock."""
    if on_postgresql():
        return db.session.scalars(select(at_once())).one()  # type: ignore[no-any-return]
    return now()


def at_once() -> Any:
    """The same as a value to store, without a statement of its own."""
    return func.clock_timestamp(type_=UtcDateTime()) if on_postgresql() else now()


def timestamp(instant: datetime) -> str:
    """A time in RFC 3339 with Z and microseconds. It must be in UTC, as all our times are."""
    written = orjson.dumps(instant, option=orjson.OPT_UTC_Z)[1:-1].decode()
    return written if instant.microsecond else f"{written[:-1]}.000000Z"
