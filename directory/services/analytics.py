"""The dashboard's figures: events from the log, current totals from the counters.

Large statements are built once, which takes longer than to run them.
"""

from datetime import date, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ARRAY,
    JSON,
    ColumnElement,
    Date,
    Float,
    String,
    and_,
    bindparam,
    cast,
    column,
    func,
    select,
)

from directory.db.transactions import in_parallel, on_postgresql
from directory.extensions import db
from directory.models import (
    AccountStatus,
    AuditEntry,
    Category,
    Project,
    Revision,
    Status,
    Upvote,
    User,
    UserCount,
    VoteDiscount,
    VoteRanking,
    now,
)
from directory.models.base import UtcDateTime
from directory.services.catalog.columns import in_queue
from directory.services.catalog.paging import AnySelect

TOP = 10
LOGGED = {
    "project.submitted": "submissions",
    "project.imported": "imported",
    "project.approved": "approvals",
    "project.rejected": "rejections",
}
APPROVALS = ("project.approved", "project.edit_approved")
REJECTIONS = ("project.rejected", "project.edit_rejected")
DECISIONS = (*APPROVALS, *REJECTIONS)
SINCE: ColumnElement[datetime] = bindparam("since", type_=UtcDateTime())


def dashboard(days: int) -> dict[str, Any]:
    """The figures as of now, and those of the last `days` UTC days, including today.

    `previous` has the totals of the same number of days before.
    """
    at = now()
    today = at.date()
    first = today - timedelta(days=days - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=at.tzinfo)
    before = since - timedelta(days=days)
    uncounted = _uncounted(before)
    series = _series(since, days, uncounted)
    with in_parallel():
        totals = _totals()
    return {
        "generated_at": at,
        "totals": totals,
        "review": _review(since),
        "series": series,
        "previous": _happened(before, since, uncounted),
        "reviewers": _reviewers(since),
        "top_projects": _top_projects(),
        "top_categories": _top_categories(),
    }


def _totals() -> dict[str, Any]:
    counters = (Category.live_projects, Category.pending_projects, Category.rejected_projects)
    sums: AnySelect = select(*(func.coalesce(func.sum(counter), 0) for counter in counters))
    live, pending, rejected = db.session.execute(sums).one()
    votes = select(func.coalesce(func.sum(VoteRanking.upvotes), 0))  # narrow rows: a tenth of the pages
    active = func.sum(UserCount.users).filter(UserCount.status == AccountStatus.ACTIVE)
    active_users, users = (int(n or 0) for n in db.session.execute(select(active, func.sum(UserCount.users))).one())
    projects = {"live": int(live), "pending": int(pending), "rejected": int(rejected)}
    return {
        "projects": {**projects, "total": sum(projects.values())},
        "users": {"active": active_users, "suspended": users - active_users, "total": users},
        "upvotes": int(db.session.scalar(votes) or 0),
    }


def _review(since: datetime) -> dict[str, Any]:
    """The review of submissions and of changes of live projects, which wait in one queue."""
    row = db.session.execute(_review_query(), {"since": since}).one()
    pending, changed, oldest, oldest_change, approvals, decisions = row
    return {
        "queue_length": pending + changed,
        "oldest_submitted_at": min((at for at in (oldest, oldest_change) if at is not None), default=None),
        "median_seconds_to_decision": _median_wait(since),
        "approval_rate": approvals / decisions if decisions else None,
    }


@cache
def _review_query() -> AnySelect:
    is_pending, is_changed = in_queue(Project), Revision.submitted_at.is_not(None)
    queries: tuple[AnySelect, ...] = (
        select(func.count()).where(is_pending),
        select(func.count()).where(is_changed),
        select(func.min(Project.submitted_at)).where(is_pending),
        select(func.min(Revision.submitted_at)).where(is_changed),
        *(
            select(func.count()).where(AuditEntry.action.in_(each), AuditEntry.at >= SINCE)
            for each in (APPROVALS, DECISIONS)
        ),
    )
    return select(*(query.scalar_subquery() for query in queries))


def _median_wait(since: datetime) -> float | None:
    """The median time from submission to decision since then, in seconds; None without a decision."""
    seconds: float | None = db.session.scalar(_median_query(), {"since": since})
    return seconds


@cache
def _median_query() -> AnySelect:
    waits = (
        select(
            AuditEntry.waited_seconds.label("seconds"),
            func.row_number().over(order_by=AuditEntry.waited_seconds).label("place"),
            func.count().over().label("size"),
        )
        .where(AuditEntry.action.in_(DECISIONS), AuditEntry.at >= SINCE, AuditEntry.waited_seconds.is_not(None))
        .subquery()
    )
    # The middle row of an odd number, the mean of the middle two of an even number: floor division on both databases.
    middle = waits.c.place.in_([(waits.c.size + 1) // 2, (waits.c.size + 2) // 2])
    return select(cast(func.avg(waits.c.seconds), Float)).where(middle)


def _reviewers(since: datetime) -> list[dict[str, Any]]:
    """The reviewers since then, each with the numbers of decisions and the median wait in seconds; busiest first."""
    return [dict(row._mapping) for row in db.session.execute(_reviewers_query(), {"since": since})]


@cache
def _reviewers_query() -> AnySelect:
    waited = AuditEntry.waited_seconds
    actor = AuditEntry.actor_id
    decided = (
        select(
            actor,
            AuditEntry.action,
            waited.label("seconds"),
            # Decisions without a wait come last.
            func.row_number().over(partition_by=actor, order_by=(waited.is_(None), waited)).label("place"),
            func.count(waited).over(partition_by=actor).label("size"),
        )
        .where(AuditEntry.action.in_(DECISIONS), AuditEntry.at >= SINCE, actor.is_not(None))
        .subquery()
    )
    d = decided.c
    middle = d.place.in_([(d.size + 1) // 2, (d.size + 2) // 2]) & (d.place <= d.size)
    return (
        select(
            User.id,
            User.username,
            func.count().filter(d.action.in_(APPROVALS)).label("approved"),
            func.count().filter(d.action.in_(REJECTIONS)).label("rejected"),
            cast(func.avg(d.seconds).filter(middle), Float).label("median_seconds"),
        )
        .join(decided, d.actor_id == User.id)
        .group_by(User.id, User.username)
        .order_by(func.count().desc(), User.id)
    )


def _happened(since: datetime, until: datetime, uncounted: dict[date, int]) -> dict[str, int]:
    """The numbers of events from the beginning of one day to that of another."""
    row = db.session.execute(_events_query(), {"since": since, "until": until}).one()
    happened = dict(row._mapping)
    happened["upvotes"] -= sum(n for day, n in uncounted.items() if since.date() <= day < until.date())
    return happened


@cache
def _events_query() -> AnySelect:
    counts = _counts(SINCE, bindparam("until", type_=UtcDateTime()))
    return select(*(count.label(name) for name, count in counts.items()))


def _uncounted(since: datetime) -> dict[date, int]:
    """The number of votes of each day since then that do not count.

    They are few, and found through their voters and discounts. The other figures count all votes of a day in an index.
    """
    return {_date(each): n for each, n in db.session.execute(_uncounted_query(), {"since": since})}


@cache
def _uncounted_query() -> AnySelect:
    at = Upvote.created_at
    suspended = select(at).join_from(User, Upvote, Upvote.user_id == User.id)
    suspended = suspended.where(User.status == AccountStatus.SUSPENDED, at >= SINCE)
    is_discounted = and_(VoteDiscount.user_id == Upvote.user_id, VoteDiscount.project_id == Upvote.project_id)
    discounted = select(at).join_from(VoteDiscount, Upvote, is_discounted).join(User, User.id == Upvote.user_id)
    discounted = discounted.where(User.status == AccountStatus.ACTIVE, at >= SINCE)
    votes = suspended.union_all(discounted).subquery()
    day = func.date(votes.c.created_at)
    return select(day, func.count()).group_by(day)


def _counts(start: Any, end: Any) -> dict[str, ColumnElement[int]]:
    """The numbers of events between two instants, each counted in an index."""

    def during(instant: Any, *conditions: ColumnElement[bool]) -> ColumnElement[int]:
        return select(func.count()).where(instant >= start, instant < end, *conditions).scalar_subquery()

    counts = {name: during(AuditEntry.at, AuditEntry.action == action) for action, name in LOGGED.items()}
    return counts | {"upvotes": during(Upvote.created_at), "signups": during(User.created_at)}


def _series(since: datetime, days: int, uncounted: dict[date, int]) -> list[dict[str, Any]]:
    """One object for each day, oldest first; all zeros for a day without events."""
    names, query = _series_query(postgresql=on_postgresql())
    dates = [(since + timedelta(days=n)).date() for n in range(days)]
    rows = db.session.execute(query, {"days": [each.isoformat() for each in dates]})
    found = {_date(each): dict(zip(names, counted, strict=True)) for each, *counted in rows}
    for each in dates:
        found[each]["upvotes"] -= uncounted.get(each, 0)
    return [{"date": each, **found[each]} for each in dates]


@cache
def _series_query(*, postgresql: bool) -> tuple[list[str], AnySelect]:
    day, following = _days(postgresql=postgresql)
    counts = _counts(day, following)
    return [*counts], select(func.date(day), *counts.values())


def _days(*, postgresql: bool) -> tuple[ColumnElement[Any], ColumnElement[Any]]:
    """The UTC days of the statement's parameter, and the ones that follow them.

    Counting the rows of each day in an index is three times as fast as grouping all rows by day. In PostgreSQL a day
    begins in the session's time zone, which `directory.db` sets to UTC.
    """
    if postgresql:
        dates = func.unnest(cast(bindparam("days", type_=ARRAY(String)), ARRAY(Date)))
        day = dates.table_valued(column("day", Date), name="days").render_derived().c.day
        return day, day + 1
    day = func.json_each(bindparam("days", type_=JSON)).table_valued("value").c.value
    return day, func.date(day, "+1 day")


def _date(value: Any) -> date:
    return value if isinstance(value, date) else date.fromisoformat(value)


def _top_projects() -> list[dict[str, Any]]:
    columns = (Project.id, Project.slug, Project.title, Project.upvotes)
    query = (
        select(*columns)
        .join(VoteRanking, VoteRanking.project_id == Project.id)
        .where(VoteRanking.status == Status.LIVE)
    )
    rows = db.session.execute(query.order_by(VoteRanking.upvotes.desc(), VoteRanking.project_id.desc()).limit(TOP))
    return [dict(row._mapping) for row in rows]


def _top_categories() -> list[dict[str, Any]]:
    query = select(Category.slug, Category.name, Category.live_projects)
    rows = db.session.execute(query.order_by(Category.live_projects.desc(), Category.id).limit(TOP))
    return [dict(row._mapping) for row in rows]
