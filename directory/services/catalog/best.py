"""The best projects of a period: what the list by votes needs in addition for its pages."""

from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Date, bindparam, cast, func, literal, literal_column, select

from directory.db.paging import AnySelect
from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Project
from directory.models.base import UtcDateTime
from directory.services.catalog import periods
from directory.services.catalog.periods import Period
from directory.services.catalog.shapes import LIVE
from directory.services.day_counts import as_date

P = Project.__table__.c
NEWEST, OLDEST = (P.listed_at.desc(), P.id.desc()), (P.listed_at, P.id)


class Around(NamedTuple):
    """The periods of the same kind before and after one, and the day of the newest project within; None without any.

    Each period has live projects.
    """

    before: Period | None
    after: Period | None
    newest: date | None


def around(period: Period) -> Around:
    """The neighbours of a period that have live projects, by one statement that reads three rows of an index."""
    first, last = period.instants
    [row] = _around().all({"first": first, "last": last})
    before, later, within = (None if at is None else at.date() for at in row)
    before, later = (None if day is None else periods.containing(day, period.kind) for day in (before, later))
    return Around(before, later, within)


def days() -> list[date]:
    """The days on which live projects were published, ascending, by one index lookup for each."""
    return [as_date(day) for (day,) in db.session.execute(_days(db.engine.dialect.name))]


@cache
def _around() -> Prepared:
    first, last = (bindparam(name, type_=UtcDateTime()) for name in ("first", "last"))
    listed = select(P.listed_at).where(LIVE)
    parts = (
        listed.where(P.listed_at < first).order_by(*NEWEST),
        listed.where(P.listed_at > last).order_by(*OLDEST),
        listed.where(P.listed_at.between(first, last)).order_by(*NEWEST),
    )
    return Prepared(select(*(part.limit(literal_column("1")).scalar_subquery() for part in parts)))


@cache
def _days(dialect: str) -> AnySelect:
    """Each step looks for the first project after the day of the last one."""
    first = select(P.listed_at).where(LIVE).order_by(*OLDEST).limit(1)
    step = select(first.scalar_subquery().label("at")).cte("step", recursive=True)
    end: Any
    if dialect == "postgresql":  # our sessions are in UTC
        end = func.date_trunc(literal("day"), step.c.at) + timedelta(days=1)
    else:
        end = literal_column("date(step.at, '+1 day')")
    following = first.where(P.listed_at >= end).correlate(step).scalar_subquery()
    steps = step.union_all(select(following).where(step.c.at.is_not(None)))
    day = cast(steps.c.at, Date) if dialect == "postgresql" else func.date(steps.c.at)
    query: AnySelect = select(day).where(steps.c.at.is_not(None))
    return query.order_by(steps.c.at)
