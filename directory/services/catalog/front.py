"""The shelves of the first page, each only where it has enough that no earlier one shows, and how much is new.

The ids are found first, by walks of indexes, and of each shelf as many more as earlier ones may show.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import BigInteger, and_, bindparam, func, literal_column, select, union_all

from directory.db.paging import AnySelect
from directory.db.statements import Prepared
from directory.extensions import db
from directory.language.messages import CATEGORY, _, of_operator
from directory.models import Category, Project, Status, VoteRanking, now
from directory.models.base import UtcDateTime
from directory.services.catalog import catalog, periods, queries
from directory.services.catalog.categories import Listed
from directory.services.catalog.columns import STATUS
from directory.services.catalog.shapes import LIVE
from directory.services.identity import Caller

LOGOS = 3  # the newest projects of a category, on the page of all
# The most projects of a shelf of the best; the fewest and the most of one of these days.
BEST, FEW, MOST = 5, 3, 6
EACH, CATEGORIES = 4, 3  # the projects on the shelf of a category, and the most of these shelves
DAYS, THIRTY = timedelta(days=7), timedelta(days=30)  # today is one of them

P, S, C = Project.__table__.c, VoteRanking.__table__.c, Category.__table__.c
FIRST, LAST = (bindparam(name, type_=UtcDateTime()) for name in ("first", "last"))
LISTED = and_(LIVE, P.listed_at.between(FIRST, LAST))


class Shelf(NamedTuple):
    """Its kind, its name, the address of the list that it begins ("" without one), and its projects."""

    kind: str
    name: str
    address: str
    projects: list[dict[str, Any]]


def shelves(earlier: Sequence[Shelf], listed: Iterable[Listed], *, viewer: Caller | None) -> list[Shelf]:
    """The `earlier` shelves, that of these days, and those of the largest of the categories that are `listed`.

    That of these days has the best of this week that have a vote; with too few of them what was published in the last
    seven days, those with pictures first; or the best of the last thirty days.
    """
    taken = {project["id"] for shelf in earlier for project in shelf.projects}
    largest = sorted(
        (category for category in listed if category.live_projects >= EACH),
        key=lambda category: -category.live_projects,
    )
    ids: dict[int, list[int]] = {}
    for place, project_id, _key in sorted(_begun(largest[:CATEGORIES]), key=lambda row: (row[0], -row[2], -row[1])):
        ids.setdefault(place, []).append(project_id)
    chosen = []
    these_days = _these_days(ids.get(0, []), taken)
    if these_days is not None:
        chosen.append(these_days)
        taken.update(these_days[1])
    for place, category in enumerate(largest[:CATEGORIES], 1):
        left = [project_id for project_id in ids.get(place, []) if project_id not in taken][:EACH]
        if len(left) == EACH:
            name = of_operator(CATEGORY, category.name)
            chosen.append((Shelf("category", name, f"/categories/{category.slug}", []), left))
    shown = _shown([project_id for _shelf, some in chosen for project_id in some], viewer)
    return [
        *earlier,
        *(
            shelf._replace(projects=[shown[project_id] for project_id in some if project_id in shown])
            for shelf, some in chosen
        ),
    ]


def published() -> int:
    """How many live projects were published in the last seven days."""
    [[number]] = _published().all(_since(DAYS))
    return int(number)


def newest(listed: Iterable[Listed]) -> dict[int, list[dict[str, Any]]]:
    """The newest live projects of each of some categories that have any, by the categories' ids."""
    rows = _newest().all({}) if any(category.live_projects for category in listed) else []
    ids = {row[0]: [project_id for project_id in row[1:] if project_id] for row in rows}
    shown = _shown([project_id for some in ids.values() for project_id in some], None)
    return {
        category: [shown[project_id] for project_id in some if project_id in shown] for category, some in ids.items()
    }


def _these_days(of_week: list[int], taken: Collection[int]) -> tuple[Shelf, list[int]] | None:
    """The shelf of these days, still empty, and the ids that belong on it."""
    left = [project_id for project_id in of_week if project_id not in taken][:BEST]
    if len(left) >= FEW:
        return Shelf("week", _("Best of this week"), "/best", []), left
    others = (
        (Shelf("new", _("New this week"), "", []), _new(), DAYS, MOST),
        (Shelf("thirty", _("Best of the last thirty days"), "", []), _best(), THIRTY, BEST),
    )
    for shelf, statement, days, most in others:
        left = [project_id for (project_id, *_rest) in statement.all(_since(days)) if project_id not in taken][:most]
        if len(left) >= FEW:
            return shelf, left
    return None


def _since(days: timedelta) -> dict[str, Any]:
    """The first and the last instant of so many days, which end today."""
    first, last = periods.ending(now().date(), days)
    return {"first": first, "last": last}


def _begun(largest: Sequence[Listed]) -> list[Any]:
    """The best of the week, and the first of the largest categories: place of the shelf, id, and key of its order."""
    first, last = periods.containing(now().date(), periods.WEEK).instants
    categories = {f"category_{place}": category.id for place, category in enumerate(largest)}
    return list(_beginnings(len(largest)).all({"first": first, "last": last, **categories}))


def _shown(ids: list[int], viewer: Caller | None) -> dict[int, dict[str, Any]]:
    """The projects as the viewer sees them, by their ids; one may have left the live ones since these were found."""
    if not ids:
        return {}
    viewed = {} if viewer is None else {"viewer_id": viewer.id}
    rows = queries.these(bool(viewed), db.engine.dialect.name).all({"ids": ids, **viewed})
    live = [row for row in rows if row[STATUS] == Status.LIVE]
    return {project["id"]: project for project in catalog.views(live, viewer)}


@cache
def _beginnings(categories: int) -> Prepared:
    parts = [_most_voted(BEST + MOST).add_columns(P.upvotes.label("key"))]
    for place in range(categories):
        of_category = S.category_id == bindparam(f"category_{place}", type_=BigInteger)
        query = select(S.project_id.label("id"), S.hot.label("key"))
        query = query.where(S.status == literal_column("'live'"), of_category)
        # Of one category no more than all of the earlier shelves may be taken.
        parts.append(query.order_by(S.hot.desc(), S.project_id.desc()).limit(literal_column(str(EACH + 2 * MOST))))
    shelves = [
        select(literal_column(str(place)).label("place"), *part.c)
        for place, part in enumerate(query.subquery() for query in parts)
    ]
    return Prepared(union_all(*shelves))


@cache
def _newest() -> Prepared:
    def at(place: int) -> Any:
        query = select(P.id).where(LIVE, P.category_id == C.id).order_by(P.listed_at.desc(), P.id.desc())
        return query.limit(literal_column("1")).offset(literal_column(str(place))).scalar_subquery()

    return Prepared(select(C.id, *(at(place).label(f"newest_{place}") for place in range(LOGOS))))


@cache
def _best() -> Prepared:
    return Prepared(_most_voted(BEST + MOST))


def _most_voted(most: int) -> AnySelect:
    """The projects of some days with the most votes; one without votes is not among the best."""
    query: AnySelect = select(P.id).where(LISTED, P.upvotes > literal_column("0"))
    return query.order_by(P.upvotes.desc(), P.id.desc()).limit(literal_column(str(most)))


@cache
def _new() -> Prepared:
    query = select(P.id).where(LISTED).order_by(P.pictures.is_(None), P.listed_at.desc(), P.id.desc())
    return Prepared(query.limit(literal_column(str(2 * MOST))))


@cache
def _published() -> Prepared:
    return Prepared(select(func.count()).where(LISTED))
