"""The site's addresses for crawlers: every live project once, in parts of at most SIZE.

A part contains the projects of a range of ids. So a project stays in its part, every part costs the same, and no rows
are counted or skipped to find a part.
"""

from functools import cache
from typing import Any

from sqlalchemy import BigInteger, bindparam, literal, select

from directory.db.paging import AnySelect
from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import Project, VoteRanking, now
from directory.models.base import HIGHEST_ID
from directory.services.catalog import best, categories, periods, tags
from directory.services.catalog.columns import unindexed
from directory.services.catalog.periods import Period

SIZE = 10_000
TAGS, DAYS = 40_000, 6_000  # a sitemap has at most 50,000 addresses

P, S = Project.__table__.c, VoteRanking.__table__.c


def parts() -> list[int]:
    """The numbers of the parts with at least one project, ascending, by one index lookup for each."""
    return [row.number for row in db.session.execute(_parts(db.engine.dialect.name))]


def part(number: int) -> list[Any]:
    """The live projects of a part (`id`, `slug`, `updated_at`) by their ids; empty if the part does not exist."""
    first = (number - 1) * SIZE + 1
    if first > HIGHEST_ID:
        return []
    bounds = {"first": first, "last": min(first + SIZE - 1, HIGHEST_ID)}
    return _projects(db.engine.dialect.name).all(bounds)


def lists() -> tuple[list[str], list[str]]:
    """The slugs of the categories, and the most used tags, that have a live project."""
    named = [category.slug for category in categories.listed() if category.live_projects]
    return named, [row["tag"] for row in tags.listed(None, TAGS)]


def past_periods() -> list[Period]:
    """The periods that are over, of the latest DAYS days with a live project, latest first."""
    today = now().date()
    days = best.days()[-DAYS:]
    filled = {periods.containing(day, kind) for day in days for kind in periods.KINDS}
    return sorted(
        (period for period in filled if period.last < today),
        key=lambda period: (period.last, period.first),
        reverse=True,
    )


# `unindexed`, here and below: by its index of states SQLite would sort all live projects.
@cache
def _parts(dialect: str) -> AnySelect:
    live = select(S.project_id).where(unindexed(S.status, dialect) == literal("live")).order_by(S.project_id).limit(1)
    step = select(live.scalar_subquery().label("first")).cte("step", recursive=True)
    end = (step.c.first - 1) // SIZE * SIZE + SIZE
    following = live.where(S.project_id > end).correlate(step).scalar_subquery()
    steps = step.union_all(select(following).where(step.c.first.is_not(None)))
    number = ((steps.c.first - 1) // SIZE + 1).label("number")
    query: AnySelect = select(number).where(steps.c.first.is_not(None))
    return query.order_by(number)


@cache
def _projects(dialect: str) -> Prepared:
    among = P.id.between(bindparam("first", type_=BigInteger), bindparam("last", type_=BigInteger))
    query = select(P.id, P.slug, P.updated_at).where(among, unindexed(P.status, dialect) == literal("live"))
    return Prepared(query.order_by(P.id))
