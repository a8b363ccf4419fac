"""The numbers of votes, registrations and entries of the log of each UTC day, which the dashboard sums.

Triggers count registrations and entries of the log as they are written. A vote must not pay for it. So the votes of a
day are counted once, after the day has ended (`close`), and triggers count only what changes votes of earlier days
than the present one. `counted_until` is the last day whose votes were counted; those of later days are few, and are
counted when they are asked for.
"""

from collections import Counter
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from sqlalchemy import Date, and_, bindparam, cast, delete, func, insert, literal, or_, select, text, union_all

from directory.db.paging import AnySelect
from directory.db.transactions import lift_time_limits, on_postgresql
from directory.extensions import db
from directory.models import DAY_COUNTS, Upvote, now
from directory.models.base import UtcDateTime

DAY = timedelta(days=1)
# A transaction that wrote votes of the present day may commit on the next one; after another whole day none is left.
ENDED = 2 * DAY
UPVOTES, SIGNUPS = "upvotes", "signups"
UNTIL = "until"  # the kind of the row whose day is the last one of which the votes were counted

Counts = dict[str, Counter[date]]  # by kind, then by day
C = DAY_COUNTS.c


def since(first: date, kinds: tuple[str, ...]) -> Counts:
    """The numbers of some kinds, votes among them, of each day from `first` on."""
    counted: Counts = {kind: Counter() for kind in (*kinds, UNTIL)}
    query = select(C.kind, C.day, func.sum(C.number)).where(C.kind.in_(counted), C.day >= first)
    for kind, day, number in db.session.execute(query.group_by(C.kind, C.day)):
        counted[kind][day] = int(number)
    until = max(counted.pop(UNTIL), default=first - DAY)
    votes = counted[UPVOTES]
    counted[UPVOTES] = Counter({day: number for day, number in votes.items() if day <= until})
    later = votes_by_day().where(Upvote.created_at >= _beginning(until + DAY))
    counted[UPVOTES] += Counter({as_date(day): number for day, number in db.session.execute(later)})
    return counted


def votes_by_day() -> AnySelect:
    """The number of votes of each day, counted in an index."""
    day = day_of(Upvote.created_at)
    return select(day, func.count()).group_by(day)


def day_of(at: Any) -> Any:
    """The UTC day of an instant; our sessions on PostgreSQL are in UTC."""
    return cast(at, Date) if on_postgresql() else func.date(at)


def as_date(value: Any) -> date:
    """A day from either database."""
    return value if isinstance(value, date) else date.fromisoformat(value)


def counted_until() -> Any:
    """The last day whose votes were counted, null if there is none, as a subquery."""
    return select(func.max(C.day)).where(C.kind == UNTIL).scalar_subquery()


def close() -> int:
    """Count the votes of the days that have ended, in this transaction, and return the number of days.

    The votes, and what triggers have counted of these days, are read in one snapshot: no vote is lost or counted twice.
    """
    until = now().date() - ENDED
    lift_time_limits()
    if on_postgresql():  # so that no other process counts the same days; triggers may count meanwhile
        db.session.execute(text(f"LOCK TABLE {DAY_COUNTS.name} IN SHARE UPDATE EXCLUSIVE MODE"))
    last = db.session.scalar(select(func.max(C.day)).where(C.kind == UNTIL))
    if last is not None and last >= until:
        return 0
    is_new = and_(C.kind == UPVOTES, C.day <= until, *([] if last is None else [C.day > last]))
    gone = delete(DAY_COUNTS).where(or_(C.kind == UNTIL, is_new))
    votes = votes_by_day().where(Upvote.created_at < bindparam("end", _beginning(until + DAY), UtcDateTime()))
    if last is not None:
        votes = votes.where(Upvote.created_at >= _beginning(last + DAY))
    counted = votes.subquery("counted").c
    day = literal(until, Date)
    rows = union_all(select(literal(UPVOTES), counted[0], counted[1]), select(literal(UNTIL), day, literal(0)))
    added = insert(DAY_COUNTS).from_select(["kind", "day", "number"], rows)
    if on_postgresql():
        added = added.add_cte(gone.returning(C.kind).cte("gone"))
    else:
        db.session.execute(gone)
    db.session.execute(added)
    return 1 if last is None else (until - last).days


def _beginning(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)
