"""Reading projects: access rules, one project, and the lists (the hot path).

A page is one statement over columns, including the viewer's votes. It includes the total too if the counters in
`categories` have it; otherwise a second statement counts. A search first counts the matches: their number decides how
the page is found.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

from directory.db.paging import Slice, Window, cut
from directory.db.statements import Row
from directory.db.transactions import by_index
from directory.errors import NotFound, NotOwner, OwnSubmission
from directory.extensions import db
from directory.models import AccountStatus, Project, Status, now
from directory.services import permissions, turns
from directory.services.accounts.sessions import Credential
from directory.services.catalog import (
    best_match,
    orders,
    periods,
    queries,
    readers,
    search,
    search_counts,
    search_frequency,
    search_language,
    shapes,
    tags,
)
from directory.services.catalog.columns import DESCRIPTION, ID, NAMES, OWNER, REVISION, STATUS, after, revision
from directory.services.catalog.filters import Filters
from directory.services.identity import Caller

# Of a period SHORT projects, or one in SPARSE of all, are read and sorted. Of a longer one the ranking is read, where
# a look at one project costs as much as LOOKUP of those.
SHORT, SPARSE, LOOKUP = 10_000, 10, 5
RELATED = 3  # times as many projects as expected may have all words of a query, since words occur together
QUICK_TEXT = 500  # characters; any text of this length is rendered within 10 ms


class Shown(NamedTuple):
    """The id of a reader (None if anonymous), and a project as they see it (None if they may not see it)."""

    reader_id: int | None
    project: dict[str, Any] | None


class Matched(NamedTuple):
    """How the projects that match filters are found.

    `narrowing` has the values of the filters by their names in statements, `given` the parameters of the statements,
    `matches` the method of `shapes.ListShape`. `counted` is for a search, `total` for several tags.
    """

    narrowing: dict[str, Any]
    given: dict[str, Any]
    matches: str
    counted: search_counts.Matches | None
    total: int | None


def require_editable(project: Any, by: Caller) -> None:
    """Raise NotFound or NotOwner unless `by` owns `project` (None if it does not exist) or is an administrator."""
    if project is None:
        raise NotFound
    if permissions.may(by, "administer") or project.owner_id == by.id:
        return
    raise NotOwner if project.status == Status.LIVE else NotFound


def editable(project_id: int, *, by: Caller) -> None:
    """Raise NotFound or NotOwner unless `by` may change the project."""
    columns = select(Project.owner_id, Project.status).where(Project.id == project_id)
    require_editable(db.session.execute(columns).one_or_none(), by)


def require_other(project_id: int, *, by: Caller) -> None:
    """Raise NotFound unless `by` may review the project, and OwnSubmission if it is their own."""
    columns = select(Project.owner_id, Project.category_id).where(Project.id == project_id)
    project = db.session.execute(columns).one_or_none()
    if project is None or not permissions.may(by, "review", project.category_id):
        raise NotFound
    if by.id == project.owner_id:
        raise OwnSubmission


def one(project_id: int, *, viewer: Caller | None) -> dict[str, Any]:
    """A project as `viewer` may see it: live, their own, or any for an administrator. Raises NotFound."""
    if viewer is None:
        return _one("anyone", project_id, None)
    return _one("reviewer" if permissions.may(viewer, "administer") else "member", project_id, viewer)


def for_review(project_id: int, *, by: Caller) -> dict[str, Any]:
    """A project of any state with all that a reviewer sees. Raises NotFound unless `by` may review its category."""
    found = many([project_id], viewer=by).get(project_id)
    if found is None or not permissions.may(by, "review", found["category_id"]):
        raise NotFound
    return found


def for_readers(asked: list[tuple[Credential | None, int]], *, quick: bool) -> list[Shown | None]:
    """For each credential (None if anonymous) and project id: the reader's id and the project as they see it.

    An item is None if `readers` does not know the credential. One statement reads for the anonymous readers, and one
    for the others. With `quick` a project is None if its description is long and must be rendered for its owner or an
    administrator, which takes too long.
    """
    anonymous = [project_id for credential, project_id in asked if credential is None]
    live = iter(queries.live().all([(project_id,) for project_id in anonymous]))
    known = [(*credential.digests, project_id) for credential, project_id in asked if credential is not None]
    found = iter(readers.projects().all(known))
    return [_anonymous(next(live)) if credential is None else _known(next(found), quick) for credential, _ in asked]


def _anonymous(row: Row | None) -> Shown:
    return Shown(None, None if row is None else _view(row, None))


def _known(row: Row | None, quick: bool) -> Shown | None:
    """The reader and the project of a row of `readers.projects`."""
    if row is None:
        return None
    reader, row = Caller(*row[:3]), row[3:]
    if row[ID] is None or (quick and _sees_all(reader, row[OWNER]) and len(row[DESCRIPTION]) > QUICK_TEXT):
        return Shown(reader.id, None)
    return Shown(reader.id, _detail(row, reader))


def stored(project_id: int) -> dict[str, Any]:
    """A project in any state with its public fields, without an access check. Raises NotFound."""
    return _one("stored", project_id, None)


def all_stored(project_ids: list[int]) -> list[dict[str, Any]]:
    """Projects in any state, in the order of their ids, by one statement, without an access check."""
    rows = queries.these(False, db.engine.dialect.name).all({"ids": project_ids})
    return [_view(row, None) for row in sorted(rows, key=lambda row: row[ID])]


def many(project_ids: list[int], *, viewer: Caller) -> dict[int, dict[str, Any]]:
    """The projects by id with all that a reviewer sees, without an access check."""
    parameters = {"project_ids": project_ids, "viewer_id": viewer.id}
    rows = db.session.execute(queries.several(), parameters)
    return {row.id: _detail(tuple(row), viewer, reviews=True) for row in rows}


def matched(filters: Filters, least: int | None = None) -> Matched | None:
    """How the projects that match `filters` are found; None if nothing matches: for example, the query has no word.

    With `least` so many words of the query are enough. Their matches are not counted where they are certainly many: to
    count those of many combinations of common words takes a second.
    """
    if filters.nothing:
        return None
    narrowing = _narrowing(filters)
    given = _parameters(filters, narrowing, least)
    if given is None:
        return None
    names = tuple(narrowing)
    if least is not None and _is_common(filters, names, given):
        return Matched(narrowing, given, shapes.CAPPED, None, None)
    is_search = filters.q is not None
    counted = search_counts.Matches(names, filters.status, given, db.engine.dialect.name) if is_search else None
    total = _total(narrowing, given, "") if filters.has_several_tags and counted is None else None
    return Matched(narrowing, given, _way(counted, total), counted, total)


def _is_common(filters: Filters, names: tuple[str, ...], given: dict[str, Any]) -> bool:
    """Whether the matches are found as those of a query with very many matches, which is exact for any number."""
    can_look = filters.status == Status.LIVE and {*names} <= best_match.NARROWED_BY
    asked = best_match.Search(names, given, db.engine.dialect.name, filters.status)
    return can_look and best_match.is_common(asked)


def page(
    filters: Filters, sort: str, window: Window, *, viewer: Caller | None, found_by: Matched | None = None,
    reviews: bool = False,
) -> Slice:  # fmt: skip
    """A slice of the projects that match `filters`. `public_scope` checks access.

    `found_by` is what `matched` returns for the filters, where the caller has it. With `reviews` the projects have all
    that a reviewer sees: the calling function has narrowed them to the categories of `viewer`.
    """
    found_by = found_by or matched(filters)
    if found_by is None:
        return Slice([], None, None, total=0)
    narrowing, given, matches, counted, total = found_by
    dialect, names = db.engine.dialect.name, tuple(narrowing)
    viewed = {} if viewer is None else {"viewer_id": viewer.id}
    rows = None
    if sort == "best" and matches == shapes.CAPPED and set(names) <= best_match.NARROWED_BY:
        asked = best_match.Search(names, given, dialect, filters.status)
        rows = _best(asked, window, viewed)
        if rows is None and best_match.is_rare(asked):
            matches = shapes.COLLECTED
    if rows is None:
        is_short, length = _length(filters, sort, window, matches, given)
        total = length if {*names} == {"status", "published"} else total
        shape = shapes.ListShape(names, filters.status, dialect, sort, matches, is_short)
        statement = queries.page(shape, window.start, window.limit, viewer is not None)
        with by_index() if matches in {shapes.TESTED, shapes.COLLECTED} else nullcontext():
            rows = statement.all({**given, **window.parameters(), **viewed})
    found = cut(rows, orders.named(sort), window)
    if rows and total is None:
        total = rows[0][after(viewer is not None)]
    if total is None:
        total = search.MOST + 1 if matches == shapes.CAPPED else _total(narrowing, given, matches)
    number = int(total)
    if counted is not None and matches == shapes.MANY:
        counted.store(number)
    found.total_capped = filters.q is not None and number > search.MOST
    found.total = search.MOST if found.total_capped else number
    found.items = views(found.items, viewer, reviews=reviews)
    return found


def total(filters: Filters) -> int:
    """The number of projects that match `filters` without a query: from counters, if these have it."""
    narrowing = _narrowing(filters)
    return _total(narrowing, narrowing | _bounds(filters), "")


def _total(narrowing: dict[str, Any], given: dict[str, Any], matches: str) -> int:
    """The number of projects that match. Matches of a query are counted only up to `search.MOST` + 1."""
    if narrowing.keys() == {"status", "tag"} and narrowing["status"] == Status.LIVE:
        return tags.used([narrowing["tag"]])[narrowing["tag"]]
    dialect = db.engine.dialect.name
    shape = shapes.ListShape(tuple(narrowing), narrowing.get("status"), dialect, matches=matches)
    [[number]] = queries.count(shape).all(given)
    return int(number)


def _way(counted: search_counts.Matches | None, total: int | None) -> str:
    """The method for a page: few matches of a search are collected; with more, the list is scanned for them.

    A narrowed list may have few of them, unless its matches were counted. So are the projects with several tags, if
    their number, `total`, is small.
    """
    if counted is None:
        return shapes.TAGGED if total is not None and total <= search.MOST else ""
    if counted.number is None:
        return shapes.CAPPED
    if counted.number <= search.MOST:
        return shapes.TESTED if counted.is_tested else shapes.FEW
    return shapes.CAPPED if counted.is_exact else shapes.MANY


def _length(
    filters: Filters, sort: str, window: Window, matches: str, given: dict[str, Any]
) -> tuple[bool, int | None]:
    """Whether the projects of a period are collected for a list by votes, and their number; it is None if not counted.

    Otherwise the ranking is read from the top, and by `hot` from near the end of the period: `given` gets its ranks.
    """
    if None in {filters.published, filters.status} or orders.is_without_votes(sort):
        return False, None
    if matches in {*shapes.BY_INDEX, shapes.TAGGED} or filters.voter_id is not None:  # these are collected
        return False, None
    [[number, total, votes]] = queries.length(str(filters.status), db.engine.dialect.name).all(given)
    begin, end = given["published_from"], given["published_until"]
    # With a margin of a week, that is ten times the votes: votes may come meanwhile.
    given |= {"hot_from": orders.hot(0, begin) - 1, "hot_until": orders.hot(votes, end) + 1}
    if number <= max(SHORT, total // SPARSE):
        return True, int(number)
    read = (window.skipped + window.limit) * (1 if sort == "popular" else total / number)
    return read * LOOKUP > number, int(number)


def _best(asked: best_match.Search, window: Window, viewed: dict[str, Any]) -> list[Row] | None:
    """The rows of a page of live projects, best match first; None if that needs all matches."""
    matches = best_match.page(asked, window)
    if matches is None:
        return None
    ids = [match.id for match in matches]
    status = asked.list.status
    shown = queries.these(bool(viewed), asked.list.dialect).all({**viewed, "ids": ids})
    by_id = {row[ID]: row for row in shown if status in {None, row[STATUS]}}
    if len(by_id) < len(matches):  # one has left the state
        return None
    return [(*by_id[match.id], search.MOST + 1, *match) for match in matches]


def _one(audience: str, project_id: int, viewer: Caller | None) -> dict[str, Any]:
    parameters = {"project_id": project_id} if viewer is None else {"project_id": project_id, "viewer_id": viewer.id}
    row = queries.one(audience).first(parameters)
    if row is None:
        raise NotFound
    return _view(row, viewer) if viewer is None else _detail(row, viewer)


def _narrowing(filters: Filters) -> dict[str, Any]:
    """The values of the filters by their names in statements, where each tag has its own, the rarest one the first."""
    given = filters.given()
    if not filters.has_several_tags:
        return given
    return given | dict(zip(shapes.TAGS, tags.used(tags.split(str(filters.tag))), strict=False))


def _bounds(filters: Filters) -> dict[str, datetime]:
    """The instants that a statement may compare with: of claims the present, of the period the first and the last."""
    if filters.published is None:
        return {"claims_at": now()}
    begin, end = periods.parse(filters.published).instants
    return {"claims_at": now(), "published_from": begin, "published_until": end}


def _parameters(filters: Filters, narrowing: dict[str, Any], least: int | None) -> dict[str, Any] | None:
    """The values for the statement of the filters; None if the query has no word, so that nothing matches."""
    given = {name: value for name, value in narrowing.items() if name != "q"} | _bounds(filters)
    if filters.q is None:
        return given
    dialect, query = db.engine.dialect.name, filters.q
    expressions = search_language.expressions(query, dialect, filters.tag, least)
    if expressions is None:
        return None
    ways = _ways(query, filters.tag) if least is None else {}  # a part of the words says nothing of all
    return {**given, **expressions, **ways, "most": search.MOST, "cap": search.MOST + 1 + search_counts.SPARE}


def _ways(query: str, tag: str | None) -> dict[str, str]:
    """The conditions by which PostgreSQL finds the matches of a query, or many of them, sooner: by their names."""
    share = search_frequency.estimates()
    if share is None:
        return {}
    is_many = search_language.expected(query, share) * search_frequency.projects() * RELATED > search.MOST
    known = search_language.known(query, search_frequency.known()) if is_many else []
    ways = {search_language.KNOWN.format(n): condition for n, condition in enumerate(known)}
    rarest = search_language.rarest(query, tag, share)
    return ways if rarest is None else {**ways, search_language.RAREST: rarest}


def views(rows: Sequence[Row], viewer: Caller | None, *, reviews: bool = False) -> list[dict[str, Any]]:
    """Rows of `columns.shown` as projects in answers."""
    return [_view(row, viewer, reviews=reviews) for row in rows]


def _detail(row: Row, viewer: Caller, *, reviews: bool = False) -> dict[str, Any]:
    project = _view(row, viewer, reviews=reviews)
    if "rejection_reason" in project:
        project["queue_position"] = row[after(signed_in=True)]
        project["description_html"] = project["description"]  # the answer's schema renders it
    return project


def _view(row: Row, viewer: Caller | None, *, reviews: bool = False) -> dict[str, Any]:
    """A row as the project in answers; its owner, administrators, and who `reviews` it get the private fields."""
    project = dict(zip(NAMES, row, strict=False))
    project["category"] = {"slug": project.pop("category_slug"), "name": project.pop("category_name")}
    owner_id = project.pop("owner_id")
    project["owner"] = {"id": owner_id, "username": project.pop("owner_username")}
    project["owner_has_page"] = project.pop("owner_status") == AccountStatus.ACTIVE  # for pages; no answer shows it
    if reviews or _sees_all(viewer, owner_id):
        waits = len(NAMES) + len(REVISION)
        project["revision"] = revision(*row[len(NAMES) : waits])
        standing = turns.standing(turns.Facts(*row[waits : after(signed_in=True)]))
        project["review"] = standing.review
        project["standing"] = standing  # for pages; no answer shows it
    else:
        del project["rejection_reason"]
    return project


def _sees_all(viewer: Caller | None, owner_id: int) -> bool:
    return viewer is not None and (viewer.id == owner_id or permissions.may(viewer, "administer"))
