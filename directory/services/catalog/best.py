"""The best projects of a period, and of the present days: what the list by votes needs in addition for its pages."""

from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Date, and_, bindparam, cast, func, literal, literal_column, select, union_all

from directory.db.paging import AnySelect
from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Project, now
from directory.models.base import UtcDateTime
from directory.services.catalog import catalog, periods
from directory.services.catalog.columns import AFTER, shown
from directory.services.catalog.periods import Period
from directory.services.day_counts import as_date
from directory.services.identity import Caller

MOST, FEWEST = 5, 3  # projects of the shelf
DAYS = timedelta(days=30)

P = Project.__table__.c
LIVE = P.status == literal_column("'live'")
VOTED = and_(LIVE, P.upvotes > literal_column("0"))  # a project without votes is not among the best
NEWEST, OLDEST = (P.listed_at.desc(), P.id.desc()), (P.listed_at, P.id)


class Around(NamedTuple):
    """The periods of the same kind before and after one, and the day of the newest project within; None without any.

    Each period has live projects.
    """

    before: Period | None
    after: Period | None
    newest: date | None


class Shelf(NamedTuple):
    """The best projects of these days, most votes first, and whether they are those of the week."""

    is_of_week: bool
    projects: list[dict[str, Any]]


def around(period: Period) -> Around:
    """The neighbours of a period that have live projects, by one statement that reads three rows of an index."""
    first, last = period.instants
    [found] = _around().all({"first": first, "last": last})
    before, later, within = (None if at is None else at.date() for at in found)
    before, later = (None if day is None else periods.containing(day, period.kind) for day in (before, later))
    return Around(before, later, within)


def shelf(*, viewer: Caller | None) -> Shelf | None:
    """The best projects with a vote of this week; of the last thirty days if the week has too few; else None."""
    today = now().date()
    begin, _ = periods.containing(today, periods.WEEK).instants
    first, last = periods.instants(today - DAYS + timedelta(days=1), today)
    given = {"week": begin, "first": first, "last": last}
    rows = _shelf(viewer is not None).all(given if viewer is None else {**given, "viewer_id": viewer.id})
    if len(rows) < FEWEST:
        return None
    return Shelf(bool(rows[0][AFTER[viewer is not None]]), [catalog.view(row, viewer) for row in rows])


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
def _shelf(signed_in: bool) -> Prepared:
    """The projects with the most votes of the week, and if these are too few, of the thirty days."""
    week, first, last = (bindparam(name, type_=UtcDateTime()) for name in ("week", "first", "last"))
    in_week = select(P.id).where(VOTED, P.listed_at.between(week, last)).limit(literal_column(str(FEWEST)))
    number = select(func.count()).select_from(in_week.subquery("in_week")).scalar_subquery()
    is_enough = number >= literal_column(str(FEWEST))
    best = [_most_voted(week, last, True).where(is_enough), _most_voted(first, last, False).where(~is_enough)]
    found = union_all(*(select(part.subquery()) for part in best)).subquery("found")
    query = shown(signed_in).join(found, found.c.id == P.id).add_columns(found.c.is_of_week)
    return Prepared(query.order_by(P.upvotes.desc(), P.id.desc()))


def _most_voted(first: Any, last: Any, is_of_week: bool) -> AnySelect:
    query: AnySelect = select(P.id, literal_column(str(int(is_of_week))).label("is_of_week"))
    query = query.where(VOTED, P.listed_at.between(first, last)).order_by(P.upvotes.desc(), P.id.desc())
    return query.limit(literal_column(str(MOST)))


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
