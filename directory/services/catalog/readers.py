"""Projects as signed-in readers see them: one statement identifies several readers and reads their own columns.

It does not identify a session or token that has ended, or whose last use is due to be recorded.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import orjson
from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    String,
    and_,
    case,
    cast,
    column,
    func,
    literal_column,
    null,
    or_,
    select,
)

from directory.db.batched_query import BatchedQuery
from directory.db.paging import AnySelect
from directory.models import FIELDS_STAMP, Project, Role, Status, Upvote, User, role_of
from directory.services import turns
from directory.services.accounts import sessions
from directory.services.catalog import own_fields
from directory.services.catalog.columns import (
    Site,
    categories,
    private_members,
    queue_position,
    reviews,
    site_of,
    users,
    with_case,
)

upvotes, P, R = Upvote.__table__, Project.__table__.c, reviews.c
reader = User.__table__.alias("reader")
IS_ADMIN = reader.c.role == literal_column(f"'{Role.ADMIN}'")
CREDENTIALS: dict[str, Any] = {"session": String(), "token": String()}
STAMP = 3  # the place among the columns of `_rest` of the number of the fields' state
# The owner's fields of most projects.
NOTHING_MORE = {"rejection_reason": None, "revision": None, "review": None, "links": None}
Value = ColumnElement[Any]
_JSON = frozenset((R.changes, P.links))


@lru_cache
def votes(dialect: str) -> BatchedQuery:
    """A reader's id, the ids of the projects that the reader voted for, and the private fields that the reader may see.

    The parameters are the digests of session and token, the ids of the projects, and the ids of their owners in the
    same order. Lists of ids are texts with commas; the column of votes is null without any. `seen_by_owner` parses the
    last column.
    """

    def query(session: Value, token: Value, projects: Value, owners: Value) -> AnySelect:
        shown = _pairs(projects, owners, dialect)
        # One lookup for each project: with a condition on all projects PostgreSQL may read all votes of the reader.
        vote = select(upvotes.c.project_id).where(upvotes.c.user_id == reader.c.id, upvotes.c.project_id == shown.c.id)
        is_voted = vote.correlate_except(upvotes).scalar_subquery().is_not(None)
        join = func.string_agg if dialect == "postgresql" else func.group_concat
        voted = select(join(cast(shown.c.id, String), literal_column("','"))).select_from(shown).where(is_voted)
        rest = _rest(dialect).where(P.id == shown.c.id).correlate(shown).scalar_subquery()
        together = func.json_agg(rest) if dialect == "postgresql" else func.json_group_array(func.json(rest))
        own = select(cast(together, String)).select_from(shown).where(or_(IS_ADMIN, shown.c.owner == reader.c.id))
        columns = (subquery.correlate_except(shown).scalar_subquery() for subquery in (voted, own))
        named = (value.label(name) for value, name in zip(columns, ("voted", "own"), strict=True))
        return select(reader.c.id, *named).where(sessions.names_user(reader, session, token))

    values = {**CREDENTIALS, "projects": String(), "owners": String()}
    return BatchedQuery(values, query, sessions.reader_parameters)


def _rest(dialect: str) -> AnySelect:
    """The fields of a project that only its owner and administrators see, as JSON."""
    array = func.json_build_array if dialect == "postgresql" else func.json_array
    columns = (func.json(part) if part in _JSON and dialect == "sqlite" else part for part in turns.COLUMNS)
    own = func.json(P.fields) if dialect == "sqlite" else P.fields
    row = array(P.id, P.category_id, own, FIELDS_STAMP, *columns)
    return select(row).select_from(P.id.table.outerjoin(reviews, turns.CURRENT))


def seen_by_owner(own: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    """The ids, as texts, and the private members of projects, from the last column of `votes`.

    `fields` is among them where its owner sees more of the operator's own fields than everybody does.
    """
    rows = orjson.loads(own or "[]")
    if not rows:
        return
    site = site_of(rows, STAMP)
    without_case = _private([None] * len(turns.COLUMNS), site)  # as most projects are, of which nothing was seen either
    for project_id, category_id, values, _stamp, *columns in rows:
        members = _private(columns, site) if any(columns[: turns.TIMES_FROM]) else without_case
        if values:
            seen, public = (
                own_fields.shown(values, site.defined, category_id, to_all=to_all) for to_all in (False, True)
            )
            members = members if seen == public else {**members, "fields": seen}
        yield str(project_id), members


def _private(columns: list[Any], site: Site) -> dict[str, Any]:
    facts = turns.Facts(*columns[: turns.TIMES_FROM], *map(_instant, columns[turns.TIMES_FROM :]))
    return private_members(facts, turns.standing(facts, facts.published_at), site)


def _instant(text: str | None) -> Any:
    """An instant from JSON; our connections are in UTC."""
    return text and datetime.fromisoformat(text).replace(tzinfo=UTC)


def _pairs(projects: Value, owners: Value, dialect: str) -> Any:
    """A table of the ids in two texts with commas."""
    if dialect == "postgresql":
        arrays = (
            cast(func.string_to_array(listed, literal_column("','")), ARRAY(BigInteger))
            for listed in (projects, owners)
        )
        columns = (column(name, BigInteger) for name in ("id", "owner"))
        return func.unnest(*arrays).table_valued(*columns, name="shown").render_derived()
    ids, others = (
        literal_column("'['").op("||")(listed).op("||")(literal_column("']'")) for listed in (projects, owners)
    )
    rows = func.json_each(ids).table_valued(column("key", BigInteger), column("value", BigInteger))
    owner = func.json_extract(others, literal_column("'$['").op("||")(rows.c.key).op("||")(literal_column("']'")))
    return select(rows.c.value.label("id"), owner.label("owner")).subquery("shown")


@lru_cache
def projects() -> BatchedQuery:
    """A reader's id, name and role, and the columns of a project, null if the reader may not see it.

    The parameters are the digests of session and token, and the id of the project.
    """

    def query(session: Value, token: Value, project_id: Value) -> AnySelect:
        sees_all = or_(IS_ADMIN, P.owner_id == reader.c.id)
        is_shown = or_(P.status == literal_column(f"'{Status.LIVE}'"), sees_all)
        joined = (
            reader.outerjoin(Project.__table__, and_(P.id == project_id, is_shown))
            .outerjoin(categories, categories.c.id == P.category_id)
            .outerjoin(users, users.c.id == P.owner_id)
            .outerjoin(reviews, turns.CURRENT)
        )
        values = {"id": reader.c.id, "username": reader.c.username, "role": role_of(reader.c)}
        who = (value.label(f"reader_{name}") for name, value in values.items())
        position = case((sees_all, queue_position()), else_=null()).label("queue_position")
        columns = select(*who, *with_case(reader.c.id).selected_columns, position)
        return columns.select_from(joined).where(sessions.names_user(reader, session, token))

    return BatchedQuery({**CREDENTIALS, "project_id": BigInteger()}, query, sessions.reader_parameters)
