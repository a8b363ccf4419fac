"""The statements that read projects: each is built once for its shape, and then run with parameters.

Building a statement costs several times as much as running it. So values that differ between requests are parameters,
and a cache has the statements by their shape: filters, order, and whether the caller is signed in.
"""

from collections.abc import Container
from dataclasses import replace
from functools import lru_cache
from typing import Any

from sqlalchemy import (
    CTE,
    BigInteger,
    ColumnElement,
    FromClause,
    bindparam,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
    union_all,
)

from directory.db.batched_query import BatchedQuery
from directory.db.paging import AnySelect, Sort, carried, directed, windowed
from directory.db.statements import Prepared, among
from directory.models import Category, Project, ProjectTag, Review, Status, Upvote, VoteRanking
from directory.services.catalog import search
from directory.services.catalog.category_slugs import id_asked_for
from directory.services.catalog.columns import (
    queue_position,
    shown,
    viewed,
    waiting,
    with_case,
)
from directory.services.catalog.orders import BEST, SORTS, named
from directory.services.catalog.own_filters import others
from directory.services.catalog.search_language import WORDS
from directory.services.catalog.shapes import (
    BY_INDEX,
    BY_VOTER,
    CAP,
    CAPPED,
    COLLECTED,
    TAGGED,
    TAGS,
    TESTED,
    ListShape,
    by_project,
    has_tags,
    is_picked,
    without_query,
)
from directory.services.turns import elsewhere, in_queue, of_changes

projects, categories, tags = Project.__table__, Category.__table__, ProjectTag.__table__
vote_rankings, upvotes = VoteRanking.__table__, Upvote.__table__
P, S, R = projects.c, vote_rankings.c, Review.__table__.c

# The filters that need no more of a project than the vote rankings have, besides those by own fields.
RANKED = {"status", "category", "categories", "tag_of_each", "published", "q", *TAGS[1:]}
COUNTERS = {
    Status.LIVE: categories.c.live_projects,
    Status.PENDING: categories.c.pending_projects,
    Status.REJECTED: categories.c.rejected_projects,
}


@lru_cache(maxsize=300)  # each takes 50 KB; a few dozen are usual, thousands are possible
def page(shape: ListShape, start: str, limit: int, signed_in: bool) -> Prepared:
    """A window of a list, with the list's total in each row, null if unknown.

    The ids are found first, if possible by an index alone, so the other columns are not read for the rows that a page
    skips. If counters have the total, one statement for both costs less than two.
    """
    ids, by, total = listed(shape)
    one_plan = shape.dialect == "postgresql" and shape.is_counted
    found = windowed(ids, by, start, limit, one_plan=one_plan).subquery("found")
    keys = carried(found, by)
    query = shown(signed_in).join(found, found.c.id == P.id).add_columns(total.label("total"), *keys)
    return Prepared(query.order_by(*directed(keys, by, start)), replan=not shape.is_counted)


def listed(shape: ListShape) -> tuple[AnySelect, Sort, ColumnElement[Any]]:
    """The ids of a list, its order by the columns of that statement, and its total."""
    if shape.matches in {*BY_INDEX, CAPPED} or (shape.has_several_tags and not shape.is_collected):
        shape = replace(shape, filters=by_project(shape.filters))
    if shape.is_short and {*shape.filters} == {"status", "published"}:
        # Each is read once: `length` has counted them.
        return select(P.id).where(*shape.conditions()), SORTS[shape.sort], literal(None)
    if shape.is_collected:
        listed = _collected(shape)
    elif shape.sort == "best":
        listed = _most_voted(shape)
    else:
        ids, by = by_index(shape)
        return ids, by, CAP if shape.matches == CAPPED else _total(shape)
    total = select(func.count()).select_from(listed).correlate(None).scalar_subquery()
    if shape.sort == "best":
        is_whole = shape.is_collected and shape.matches != COLLECTED and not shape.is_short
        first = listed if is_whole else _first(listed)
        if shape.is_collected:
            first = search.ranked(first, shape.dialect, synonyms=shape.synonyms).subquery("ranks")
        return select(first.c.id), _order_of(BEST, first), total
    return select(listed.c.id), _order_of(named(shape.sort), listed), total


def by_index(shape: ListShape) -> tuple[AnySelect, Sort]:
    """The ids by an index in the list's order, if there is one."""
    by = SORTS[shape.sort]
    if "waiting" in shape.filters:
        queue = waiting(shape.dialect)
        return select(queue.c.id).where(*shape.conditions(queue.c)), _order_of(by, queue)
    if shape.status and by.by_votes:
        return standing(shape), by.in_state
    if shape.matches == CAPPED and shape.status is None and shape.sort != "newest":
        return in_every_state(shape)
    return select(P.id).where(*shape.conditions()), by


def in_every_state(shape: ListShape) -> tuple[AnySelect, Sort]:
    """The ids of projects of all states, each state's in the order of its index, as `columns.waiting` has them.

    For a list that is narrowed by no more than category, tag and query.
    """
    by = SORTS[shape.sort].in_state
    *_, number = by.keys
    columns = number.table.c
    parts = [
        select(columns.status, columns.category_id, number.label("id"), *by.keys[:-1]).where(
            columns.status == literal_column(f"'{status}'")
        )
        for status in Status
    ]
    if shape.dialect == "postgresql":
        parts = [select(part.order_by(*directed(by.keys, by, "top")).subquery()) for part in parts]
    listed = union_all(*parts).subquery("every_state")
    keys = (*(listed.c[key.name] for key in by.keys[:-1]), listed.c.id)
    return select(listed.c.id).where(*shape.conditions(listed.c)), Sort(keys, by.descending)


def standing(shape: ListShape) -> AnySelect:
    """The ids from the vote rankings, joined with the projects if a filter needs a column that the rankings lack."""
    query: AnySelect = select(S.project_id.label("id")).where(*shape.conditions(S))
    is_enough = others(shape.filters) <= RANKED
    return query if is_enough else query.join(projects, P.id == S.project_id)


def _collected(shape: ListShape) -> CTE:
    """The ids that are collected, with the columns of the order: others may stand behind long texts in a row."""
    names = ["upvotes"] if shape.sort == "best" else [key.name for key in named(shape.sort).keys if key.name != "id"]
    if shape.is_short:
        within = select(P.id, *(P[name] for name in names)).where(*shape.conditions())
        return within.cte("gathered").prefix_with("MATERIALIZED")
    ids, without = _first_found(shape)
    # Materialised: otherwise PostgreSQL may compare the words with each project, and SQLite may search for each.
    begun = ids.cte("matches").prefix_with("MATERIALIZED")
    if shape.dialect == "postgresql" and "waiting" not in shape.filters:
        row = select(*(P[name] for name in names)).where(P.id == begun.c.id, *shape.conditions(P, without=without))
        looked_up = search.looked_up(row.correlate(begun))
        query: AnySelect = select(begun.c.id, *looked_up.c).join_from(begun, looked_up, true())
    else:
        listed: Any = waiting(shape.dialect).c if "waiting" in shape.filters else P
        query = select(listed.id, *(listed[name] for name in names)).join(begun, begun.c.id == listed.id)
        query = query.where(*shape.conditions(listed, without=without))
    return query.cte("gathered").prefix_with("MATERIALIZED")


def _first_found(shape: ListShape) -> tuple[AnySelect, Container[str]]:
    """The ids that an index finds, and the names of the filters that these meet."""
    if shape.matches in BY_INDEX:
        return search.matching(shape.dialect, tested=shape.matches == TESTED), ("q",)
    if shape.matches == TAGGED:
        return _tagged(shape), TAGS
    if "voter_id" in shape.filters:
        return select(upvotes.c.project_id.label("id")).where(BY_VOTER), ("voter_id",)
    return select(P.id).where(is_picked(shape.dialect)), ("picked",)


def _tagged(shape: ListShape) -> AnySelect:
    """The ids of the projects with the tags: those of the rarest one that have the others.

    PostgreSQL merges the ranges of the index, and SQLite looks up the others for each project, so that it begins with
    the rarest tag.
    """
    found: AnySelect = select(tags.c.project_id.label("id")).where(tags.c.tag == bindparam(TAGS[0]))
    others = tuple(name for name in TAGS[1:] if name in shape.filters)
    if shape.dialect == "sqlite" and others:
        return found.where(has_tags(others, tags.c.project_id))
    for name in others:
        own = tags.alias(name)
        found = found.join(own, (own.c.project_id == tags.c.project_id) & (own.c.tag == bindparam(name)))
    return found


def _most_voted(shape: ListShape) -> CTE:
    """The `cap` matches with the most votes, for a query with many matches; best match reads fewer."""
    ids, by = by_index(replace(shape, filters=without_query(shape.filters), sort="upvotes"))
    votes, project_id = by.keys
    ids = ids.add_columns(votes.label("upvotes"))
    query = search.with_rank(ids, project_id, shape.dialect, synonyms=shape.synonyms)
    query = query.order_by(votes.desc(), project_id.desc()).limit(CAP)
    return query.cte("most_voted").prefix_with("MATERIALIZED")


def _first(listed: CTE) -> FromClause:
    """The matches with the most votes, as many as best match ranks."""
    query = select(listed).order_by(listed.c.upvotes.desc(), listed.c.id.desc())
    return query.limit(bindparam("most", type_=BigInteger)).subquery("first")


def _order_of(sort: Sort, listed: FromClause) -> Sort:
    """The order by the columns of the same names in a table."""
    return Sort(tuple(listed.c[key.name] for key in sort.keys), sort.descending)


def _total(shape: ListShape) -> ColumnElement[Any]:
    """The total in the page's own statement, null if it needs another statement."""
    if shape.is_counted:
        return _counters(shape).correlate(None).scalar_subquery()
    return _capped_total(shape).scalar_subquery() if "q" in shape.filters else literal(None)


@lru_cache
def length(status: str, dialect: str) -> Prepared:
    """The numbers of projects of a period and of its state, and the most votes of a project in that state."""
    most = select(S.upvotes).where(S.status == literal_column(f"'{Status(status)}'"))
    most = most.order_by(S.upvotes.desc()).limit(literal_column("1"))
    within = select(P.id).where(*ListShape(("status", "published"), status, dialect).conditions())
    number = select(func.count()).select_from(within.subquery("within")).scalar_subquery()
    total = _counters(ListShape(("status",), status, dialect)).scalar_subquery()
    return Prepared(select(number, total, func.coalesce(most.scalar_subquery(), 0)), replan=True)


@lru_cache(maxsize=100)
def count(shape: ListShape) -> Prepared:
    """The number of projects in a list, from the counters of the categories if they have it.

    At most `cap` matches of a query are counted. The order of `shape` is the default.
    """
    if shape.is_counted:
        return Prepared(_counters(shape))
    if shape.is_collected:
        shape = replace(shape, filters=by_project(shape.filters)) if shape.matches in BY_INDEX else shape
        return Prepared(select(func.count()).select_from(_collected(shape)), replan=True)
    if "q" in shape.filters:
        return Prepared(_capped_total(shape), replan=True)
    if shape.has_several_tags:
        begun = _tagged(shape).cte("matches").prefix_with("MATERIALIZED")
        rest = tuple(name for name in shape.filters if name not in TAGS)
        ids = standing(replace(shape, filters=rest)).where(S.project_id.in_(select(begun.c.id)))
    elif others(shape.filters) < {*shape.filters}:  # of own fields: the rankings are read much sooner than the projects
        ids, _ = by_index(replace(shape, sort="upvotes"))
    else:
        ids, _ = by_index(shape)
    return Prepared(select(func.count()).select_from(ids.subquery("among")), replan=True)


@lru_cache
def among_matches(shape: ListShape, most: int) -> Prepared:
    """The number of projects of a list among the first `most` matches of a query by whole words, no more than `cap`."""
    match = search.matching(shape.dialect, WORDS).limit(literal_column(str(most))).subquery("match")
    # A subquery for one value, as in `search.found`: as a table all vote rankings might be read.
    one = standing(shape).where(S.project_id == match.c.id).correlate(match).scalar_subquery()
    within = select(match.c.id).where(one.is_not(None)).limit(CAP).subquery("within")
    return Prepared(select(func.count()).select_from(within), replan=True)


def _capped_total(shape: ListShape) -> AnySelect:
    within = by_index(replace(shape, sort="upvotes"))[0].limit(CAP).correlate(None).subquery("within")
    return select(func.count()).select_from(within)


def _counters(shape: ListShape) -> AnySelect:
    """The total by the counters of the categories; for the queue plus the changes in it, which are few.

    Pending projects that wait for somebody else, who are few too, are not in the queue.
    """
    counters = list(COUNTERS.values()) if shape.status is None else [COUNTERS[Status(shape.status)]]
    if "waiting" in shape.filters:
        counters = [COUNTERS[Status.PENDING]]
    total: ColumnElement[Any] = func.coalesce(func.sum(sum(counters[1:], start=counters[0])), 0)
    if "waiting" in shape.filters:
        total += _cases(shape, in_queue(), of_changes())
        total -= _cases(shape, elsewhere(), ~of_changes(), R.outcome.is_(None))
    query: AnySelect = select(total).select_from(categories)
    if "category" in shape.filters:
        query = query.where(categories.c.id == id_asked_for())
    return query.where(among(categories.c.id, shape.dialect, "categories")) if "categories" in shape.filters else query


def _cases(shape: ListShape, *conditions: ColumnElement[bool]) -> ColumnElement[int]:
    """The number of cases that meet the conditions, of which an index has few, in the categories of a list."""
    among_these = among(R.category_id, shape.dialect, "categories")
    known = {"category": R.category_id == id_asked_for(), "categories": among_these}
    narrowed = (condition for name, condition in known.items() if name in shape.filters)
    query: AnySelect = select(func.count()).select_from(R.id.table).where(*conditions, *narrowed)
    return query.correlate(None).scalar_subquery()


@lru_cache
def one(audience: str) -> Prepared:
    """One project for "anyone", for a "member" (also their own), or for a "reviewer" or as "stored" (any)."""
    query = shown(signed_in=audience in {"member", "reviewer"}).where(P.id == bindparam("project_id"))
    # With the status as a parameter SQLite would prepare the statement for each run, because of an index that has a
    # status in its condition.
    if audience == "anyone":
        return Prepared(query.where(P.status == literal_column("'live'")))
    if audience == "member":
        query = query.where(or_(P.status == literal_column("'live'"), P.owner_id == bindparam("viewer_id")))
    return Prepared(query if audience == "stored" else query.add_columns(queue_position().label("queue_position")))


@lru_cache
def live() -> BatchedQuery:
    """Live projects by their ids."""
    query = viewed(signed_in=False).where(P.status == literal_column("'live'"))
    return BatchedQuery({"project_id": BigInteger()}, lambda project_id: query.where(P.id == project_id))


@lru_cache
def several(dialect: str) -> Prepared:
    """The projects of a list of ids, for a reviewer."""
    query = with_case().add_columns(queue_position().label("queue_position"))
    return Prepared(query.where(among(P.id, dialect, one_plan=True)))


@lru_cache
def these(signed_in: bool, dialect: str) -> Prepared:
    """The projects of a list of ids, whatever their state, which as a condition might be looked up before the ids."""
    return Prepared(shown(signed_in).where(among(P.id, dialect, one_plan=True)))
