"""What signed-in members see of live projects: one statement identifies several of them and reads their votes.

It leaves out callers that see more or that need a write: administrators, owners, and a session or token that has ended
or whose last use is to be recorded. The rules for one caller answer those.
"""

from functools import lru_cache
from typing import Any

from sqlalchemy import ARRAY, BigInteger, ColumnElement, String, and_, cast, column, func, literal_column, or_, select

from directory.db.batched_query import BatchedQuery
from directory.models import Project, Status, Upvote, User
from directory.services.accounts import sessions
from directory.services.catalog.columns import categories, users, viewed
from directory.services.catalog.paging import AnySelect

upvotes, P = Upvote.__table__, Project.__table__.c
reader = User.__table__.alias("reader")
CREDENTIALS = {"session": String(), "token": String()}
Value = ColumnElement[Any]


@lru_cache
def votes(dialect: str) -> BatchedQuery:
    """A member's id, and of some projects the ids of those that the member voted for.

    The values are the digests of session and token, and the ids of the projects. These ids and those of the row are
    texts with commas in between; the row's is null where there is no vote.
    """

    def query(session: Value, token: Value, projects: Value) -> AnySelect:
        shown = _ids(projects, dialect)
        # One lookup for each project: as a condition on all of them PostgreSQL may read all votes of the member.
        vote = select(upvotes.c.project_id).where(upvotes.c.user_id == reader.c.id, upvotes.c.project_id == shown.c.id)
        is_voted = vote.correlate_except(upvotes).scalar_subquery().is_not(None)
        join = func.string_agg if dialect == "postgresql" else func.group_concat
        voted = select(join(cast(shown.c.id, String), literal_column("','"))).select_from(shown).where(is_voted)
        voted_ids = voted.correlate_except(shown).scalar_subquery().label("voted")
        return select(reader.c.id, voted_ids).where(sessions.names_member(reader, session, token))

    return BatchedQuery({**CREDENTIALS, "projects": String()}, query, sessions.instants)


def _ids(joined: Value, dialect: str) -> Any:
    """A table of the ids in a text with commas in between."""
    if dialect == "postgresql":
        array = cast(func.string_to_array(joined, literal_column("','")), ARRAY(BigInteger))
        return func.unnest(array).table_valued(column("id", BigInteger), name="shown").render_derived()
    given = literal_column("'['").op("||")(joined).op("||")(literal_column("']'"))
    rows = func.json_each(given).table_valued(column("value", BigInteger))
    return select(rows.c.value.label("id")).subquery("shown")


@lru_cache
def projects() -> BatchedQuery:
    """A member's id, and a project that is live or the member's own, with the columns that answers show; or nulls.

    The values are the digests of session and token, and the id of the project.
    """

    def query(session: Value, token: Value, project_id: Value) -> AnySelect:
        shown = viewed(signed_in=True, viewer=reader.c.id)
        is_shown = or_(P.status == literal_column(f"'{Status.LIVE}'"), P.owner_id == reader.c.id)
        found = (
            reader.outerjoin(Project.__table__, and_(P.id == project_id, is_shown))
            .outerjoin(categories, categories.c.id == P.category_id)
            .outerjoin(users, users.c.id == P.owner_id)
        )
        columns = select(reader.c.id.label("reader_id"), *shown.selected_columns)
        return columns.select_from(found).where(sessions.names_member(reader, session, token))

    return BatchedQuery({**CREDENTIALS, "project_id": BigInteger()}, query, sessions.instants)
