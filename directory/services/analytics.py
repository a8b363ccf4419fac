"""The dashboard's figures: events by the numbers of each day, waits from the log, current totals from the counters.

Large statements are built once, which takes longer than to run them.
"""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Float, and_, bindparam, cast, func, select

from directory import events
from directory.db.paging import AnySelect
from directory.db.transactions import on_postgresql
from directory.extensions import db
from directory.models import (
    AccountStatus,
    AuditEntry,
    Category,
    Project,
    Review,
    Status,
    Turn,
    Upvote,
    User,
    UserCount,
    VoteDiscount,
    VoteRanking,
    now,
)
from directory.models.base import UtcDateTime
from directory.services import day_counts
from directory.services.day_counts import Counts
from directory.services.turns import in_queue, is_turn

TOP = 10
LOGGED: dict[str, str] = {event: event.series for event in events.TABLE if event.series}
APPROVALS = tuple(event for event in events.TABLE if event.decision == "approve")
REJECTIONS = tuple(event for event in events.TABLE if event.decision == "reject")
DECISIONS = (*APPROVALS, *REJECTIONS)
SERIES = {**LOGGED, "upvotes": "upvotes", "signups": "signups"}
KINDS = tuple({*SERIES, *DECISIONS, *events.SETTLED.values()})
DAY = timedelta(days=1)
EVER = date(1970, 1, 1)
SINCE: ColumnElement[datetime] = bindparam("since", type_=UtcDateTime())


def dashboard(days: int) -> dict[str, Any]:
    """The figures as of now, and those of the last `days` UTC days, including today.

    `previous` has the totals of the same number of days before.
    """
    at = now()
    today = at.date()
    first = today - timedelta(days=days - 1)
    since = datetime(first.year, first.month, first.day, tzinfo=at.tzinfo)
    before = first - timedelta(days=days)
    counted, reviewers = _counted(EVER), _reviewers(since)
    return {
        "generated_at": at,
        "totals": _totals(counted),
        "review": _review(since, counted, reviewers),
        "series": [_on(first + n * DAY, counted) for n in range(days)],
        "previous": {name: _number(counted, (kind,), before, first - DAY) for kind, name in SERIES.items()},
        "reviewers": reviewers,
        "top_projects": _top_projects(),
        "top_categories": _top_categories(),
    }


def _totals(counted: Counts) -> dict[str, Any]:
    counters = (Category.live_projects, Category.pending_projects, Category.rejected_projects)
    sums: AnySelect = select(*(func.coalesce(func.sum(counter), 0) for counter in counters))
    live, pending, rejected = db.session.execute(sums).one()
    active = func.sum(UserCount.users).filter(UserCount.status == AccountStatus.ACTIVE)
    active_users, users = (int(n or 0) for n in db.session.execute(select(active, func.sum(UserCount.users))).one())
    projects = {"live": int(live), "pending": int(pending), "rejected": int(rejected)}
    return {
        "projects": {**projects, "total": sum(projects.values())},
        "users": {"active": active_users, "suspended": users - active_users, "total": users},
        "upvotes": sum(counted["upvotes"].values()),
    }


def _review(since: datetime, counted: Counts, reviewers: list[dict[str, Any]]) -> dict[str, Any]:
    """The review of submissions and of changes of live projects, which wait in one queue.

    What nobody decided, the service or a rule, is in no rate and no median.
    """
    queued, oldest, with_owners, appeals = db.session.execute(_review_query()).one()
    settled = {name: _number(counted, (kind,), since.date(), date.max) for name, kind in events.SETTLED.items()}
    approvals, rejections = (sum(reviewer[name] for reviewer in reviewers) for name in ("approved", "rejected"))
    decisions = approvals + rejections
    return {
        "queue_length": queued,
        "waiting_for_owner": with_owners,
        "appeals": {"open": appeals, **settled},
        "oldest_submitted_at": oldest,
        "median_seconds_to_decision": median_wait(since),
        "approval_rate": approvals / decisions if decisions else None,
    }


@cache
def _review_query() -> AnySelect:
    queries: tuple[AnySelect, ...] = (
        select(func.count()).select_from(Review).where(in_queue()),
        select(func.min(Review.place)).where(in_queue()),
        *(select(func.count()).select_from(Review).where(is_turn(turn)) for turn in (Turn.OWNER, Turn.APPEAL)),
    )
    return select(*(query.scalar_subquery() for query in queries))


def median_wait(since: datetime) -> float | None:
    """The median time from submission to decision since then, in seconds; None without a decision."""
    seconds: float | None = db.session.scalar(_median_query(postgresql=on_postgresql()), {"since": since})
    return seconds


@cache
def _median_query(*, postgresql: bool) -> AnySelect:
    """Both read no more than an index. PostgreSQL's own function takes half of the time of the windows."""
    waited = AuditEntry.waited_seconds
    by_somebody = AuditEntry.actor_id.is_not(None)
    conditions = (AuditEntry.action.in_(DECISIONS), AuditEntry.at >= SINCE, waited.is_not(None), by_somebody)
    if postgresql:
        return select(func.percentile_cont(0.5).within_group(waited)).where(*conditions)
    waits = (
        select(
            waited.label("seconds"),
            func.row_number().over(order_by=waited).label("place"),
            func.count().over().label("size"),
        )
        .where(*conditions)
        .subquery()
    )
    # The middle row of an odd number, the mean of the middle two of an even number.
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


def _on(day: date, counted: Counts) -> dict[str, Any]:
    """The numbers of a day's events, by their names in answers."""
    return {"date": day, **{name: counted[kind][day] for kind, name in SERIES.items()}}


def _number(counted: Counts, kinds: tuple[str, ...], first: date, last: date) -> int:
    """The number of events of some kinds from one day to another."""
    return sum(sum(n for day, n in counted[kind].items() if first <= day <= last) for kind in kinds)


def _counted(first: date) -> Counts:
    """The numbers of events by kind and day since then, without the votes that do not count."""
    counted = day_counts.since(first, KINDS)
    counted["upvotes"].subtract(_uncounted(datetime(first.year, first.month, first.day, tzinfo=UTC)))
    return counted


def _uncounted(since: datetime) -> dict[date, int]:
    """The number of votes of each day since then that do not count.

    They are few, and found through their voters and discounts. The numbers of the days have all votes.
    """
    return {day_counts.as_date(number): n for number, n in db.session.execute(_uncounted_query(), {"since": since})}


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
