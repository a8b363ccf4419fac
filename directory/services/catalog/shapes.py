"""The shape of a list of projects: the parts that determine its SQL, and its filters as conditions.

`queries` has a statement for each shape. Values that differ between requests are parameters.
"""

from collections.abc import Container
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Float,
    and_,
    bindparam,
    literal_column,
    or_,
    select,
    true,
)

from directory import events
from directory.db.paging import AnySelect
from directory.db.statements import among
from directory.extensions import db
from directory.models import AuditEntry, Project, ProjectTag, Status, Turn, Upvote, User
from directory.models.base import UtcDateTime
from directory.services.catalog import search
from directory.services.catalog.category_slugs import id_asked_for
from directory.services.catalog.columns import answered, unindexed
from directory.services.catalog.own_filters import condition, others
from directory.services.turns import PENDING, waiting_for

projects, users, tags, upvotes = Project.__table__, User.__table__, ProjectTag.__table__, Upvote.__table__
P = projects.c

CAP: Any = bindparam("cap", type_=BigInteger)  # the most matches of a query that are counted
# Matches of a query: FEW, TESTED and COLLECTED ones are found by the search index (TESTED ones by the rarest words of
# the query alone), MANY and CAPPED ones by a scan of the list; CAPPED if the list too is known to have many.
FEW, TESTED, COLLECTED, MANY, CAPPED = "few", "tested", "collected", "many", "capped"
BY_INDEX = {FEW, TESTED, COLLECTED}
TAGGED = "tagged"  # the projects with several tags are found by the index of tags, before the other filters
TAGS = ("tag", "tag_2", "tag_3", "tag_4", "tag_5")  # the names of several tags, of which all must match; rarest first
LIVE = P.status == literal_column(f"'{Status.LIVE}'")
BY_VOTER = upvotes.c.user_id == bindparam("voter_id")
# The first and the last instant of the period of the filter `published`, and the ranks (`hot`) that its projects have.
PERIOD: Any = tuple(bindparam(f"published_{end}", type_=UtcDateTime()) for end in ("from", "until"))
PRESENT: Any = bindparam("present", type_=UtcDateTime())  # for conditions of extras
RANKS: Any = tuple(bindparam(f"hot_{end}", type_=Float(53)) for end in ("from", "until"))


@dataclass(frozen=True, slots=True)
class ListShape:
    """The parts of a list that determine its SQL: the names of its filters, the state, the order and the database.

    `matches` says how the matches of a query are found: FEW, TESTED, COLLECTED, MANY or CAPPED; without a query it is
    "", or TAGGED. With `is_short` the projects of the period `published` are collected. With `synonyms` a word of the
    query has some.
    """

    filters: tuple[str, ...]
    status: str | None
    dialect: str
    sort: str = "newest"
    matches: str = ""
    is_short: bool = False
    synonyms: bool = False

    @property
    def is_counted(self) -> bool:
        """Whether counters have the total."""
        return {*self.filters} - {"category", "categories"} in ({"status"}, {"waiting"}, set())

    @property
    def is_collected(self) -> bool:
        """Whether ids are collected first: matches BY_INDEX, projects TAGGED, a user's votes, picks, a short period."""
        is_short_list = self.is_short or not {"voter_id", "picked"}.isdisjoint(self.filters)
        return is_short_list or self.matches in {*BY_INDEX, TAGGED}

    @property
    def has_several_tags(self) -> bool:
        """Whether it is narrowed by more than one tag."""
        return TAGS[1] in self.filters

    def conditions(self, columns: Any = P, without: Container[str] = ()) -> list[ColumnElement[bool]]:
        """The filters, except `without`, as conditions; state and category are columns of the projects or of `columns`.

        The status is part of the SQL text, because each status needs its own plan. Slugs and names are looked up in
        subqueries: with a join the planner would not see that one category is one range of an index, already in the
        order of the list.
        """
        project_id = columns.project_id if "project_id" in columns else columns.id
        owner_id = columns.get("owner_id", P.owner_id)
        owner = select(users.c.id).where(users.c.username == bindparam("owner"))
        tagged = select(tags.c.project_id).where(tags.c.tag == bindparam("tag"))
        known: dict[str, Any] = {
            "status": lambda: columns.status == literal_column(f"'{Status(str(self.status))}'"),
            "category": lambda: columns.category_id == id_asked_for(),
            "categories": lambda: among(columns.category_id, self.dialect, "categories"),
            "owner": lambda: owner_id == owner.correlate(None).scalar_subquery(),
            "owner_id": lambda: owner_id == bindparam("owner_id"),
            "voter_id": lambda: project_id.in_(select(upvotes.c.project_id).where(BY_VOTER)),
            "with_owner": lambda: project_id.in_(waiting_for(Turn.OWNER)),
            "held": lambda: project_id.in_(waiting_for(Turn.RULE)),
            "in_appeal": lambda: project_id.in_(waiting_for(Turn.APPEAL)),
            "answered": lambda: project_id.in_(answered()),
            "tag": lambda: project_id.in_(tagged),
            "tag_of_each": lambda: is_tagged(project_id),
            # A test of the truth: both databases look each project up in a table of those with the tag, in memory.
            "tag_in_memory": lambda: project_id.in_(tagged).is_(true()),
            **{name: partial(is_tagged, project_id, name) for name in TAGS[1:]},
            # A test of the truth, which PostgreSQL makes by a table in memory, and not by a join.
            "first_time": lambda: owner_id.in_(first_timers(self.dialect)).is_(true()),
            "picked": lambda: is_picked(self.dialect),
            "published": lambda: _published(columns, project_id, self),
            "q": lambda: search.found(project_id, self.dialect),
            "q_in_memory": lambda: project_id.in_(search.matching(self.dialect)).is_(true()),
        }
        # The table of waiting projects is the condition.
        names = [name for name in self.filters if name not in without and name != "waiting"]
        for name in {*names} - others(names):
            known[name] = partial(condition, name, project_id, columns.category_id, self.dialect)
        return [known[name]() if name in known else db.conditions[name](project_id) for name in names]


def without_query(filters: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the filters other than the query."""
    return tuple(name for name in filters if name != "q")


def by_project(filters: tuple[str, ...], way: str = "tag_of_each") -> tuple[str, ...]:
    """The filters with the tag looked up for each project, instead of a list of all projects with the tag."""
    return tuple(way if name == "tag" else name for name in filters)


def is_tagged(project_id: ColumnElement[int], name: str = "tag") -> ColumnElement[bool]:
    """Whether a project has the tag that is asked for by this name, looked up for each project."""
    own = tags.alias()
    found = select(own.c.project_id).where(own.c.tag == bindparam(name), own.c.project_id == project_id)
    return found.correlate(project_id.table).scalar_subquery().is_not(None)


def is_picked(dialect: str) -> ColumnElement[bool]:
    """Whether a project is among the picks that are listed, by the index of picks."""
    # Any time is greater than no text: SQLite uses no index for what is not null.
    has_pick = P.picked_at > literal_column("''") if dialect == "sqlite" else P.picked_at.is_not(None)
    return and_(unindexed(P.status, dialect) == literal_column(f"'{Status.LIVE}'"), has_pick)


def has_tags(names: tuple[str, ...], project_id: ColumnElement[int]) -> ColumnElement[bool]:
    """Whether a project has all of the tags that are asked for by these names, looked up for each project."""
    return and_(*(is_tagged(project_id, name) for name in names))


@lru_cache
def first_timers(dialect: str) -> AnySelect:
    """The owners of pending projects of which, as of their other projects, none was decided before.

    Each owner is looked up once, in indexes. The log alone knows that a project was rejected and then edited. Not by
    EXISTS: PostgreSQL may then read all projects, or all rejections.
    """
    pending_owner = unindexed(P.owner_id, dialect).label("owner_id")
    waiting = select(pending_owner).where(P.status == PENDING).distinct().subquery("owners_in_queue")
    other = projects.alias("decided")
    own = select(other.c.id).where(other.c.owner_id == waiting.c.owner_id).limit(literal_column("1"))
    log = AuditEntry.__table__.c
    rejection = select(log.id).where(
        log.project_id == other.c.id, log.action == literal_column(f"'{events.PROJECT_REJECTED}'")
    )
    rejected = rejection.limit(literal_column("1")).correlate(other).scalar_subquery().is_not(None)
    was_decided = (
        other.c.status == literal_column(f"'{Status.LIVE}'"),
        other.c.status == literal_column(f"'{Status.REJECTED}'"),
        and_(other.c.status == PENDING, or_(other.c.published_at.is_not(None), rejected)),
    )
    return select(waiting.c.owner_id).where(
        *(own.where(each).correlate(waiting).scalar_subquery().is_(None) for each in was_decided)
    )


def _published(columns: Any, project_id: ColumnElement[int], shape: ListShape) -> ColumnElement[bool]:
    """Whether a project was first approved within the period. `listed_at` is that time, where there is one.

    It is looked up for each row of a table without that column: of a ranking a page reads few.
    """
    if "listed_at" in columns:
        is_within: ColumnElement[bool] = columns.listed_at.between(*PERIOD)
        # Live projects have it by a constraint; so their index is enough.
        return is_within if shape.status == Status.LIVE else and_(is_within, P.published_at.is_not(None))
    dated = projects.alias("dated")
    found = select(dated.c.id).where(dated.c.id == project_id, dated.c.published_at.between(*PERIOD))
    is_listed: ColumnElement[bool] = found.correlate(project_id.table).scalar_subquery().is_not(None)
    is_by_rank = shape.sort == "popular" and shape.status is not None
    return and_(columns.hot.between(*RANKS), is_listed) if is_by_rank else is_listed
