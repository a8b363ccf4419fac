"""Review of votes: the voters of a project, signs of doubtful votes, and administrators' decisions to discount votes.

A decision locks the project, as a vote does, and then recounts its votes. So it is serialized with votes, suspensions
and other decisions. A discount stays if the vote is withdrawn.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    and_,
    case,
    cast,
    delete,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    text,
    true,
    update,
)
from sqlalchemy.orm import aliased

from directory import events
from directory.db.paging import Slice, Sort, Window, as_dict, fetch
from directory.db.transactions import on_postgresql
from directory.errors import NotFound
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import AccountStatus, Project, Status, Upvote, User, VoteDiscount
from directory.models.base import UtcDateTime
from directory.services import audit
from directory.services.catalog.orders import hot
from directory.services.identity import Caller, require_active
from directory.services.votes.voting import COUNTS, DISCOUNTED, counts

ACTIONS = {"discount": events.PROJECT_VOTES_DISCOUNTED, "count": events.PROJECT_VOTES_COUNTED}
RULES = ("new_accounts", "unverified", "single_owner")
WITHOUT_MAIL = ("new_accounts", "single_owner")  # nobody can confirm an address
RECENT = 5_000  # votes
NEWEST = Sort((Upvote.created_at, Upvote.user_id), descending=True)

_Other, _Liked = aliased(Upvote), aliased(Project)


def page(project_id: int, window: Window, *, counted: bool | None = None) -> Slice:
    """The votes for a project, newest first, each with its voter; `counted` filters them. Raises NotFound."""
    owner_id = db.session.scalar(select(Project.owner_id).where(Project.id == project_id))
    if owner_id is None:
        raise NotFound
    others = select(func.count()).select_from(_Other).where(_Other.user_id == Upvote.user_id)
    columns = (
        User.id,
        User.username,
        User.status,
        User.created_at,
        User.email_verified_at,
        Upvote.created_at.label("at"),
        COUNTS.label("counted"),
        others.scalar_subquery().label("votes"),
        others.join(_Liked, _Liked.id == _Other.project_id)
        .where(_Liked.owner_id == owner_id)
        .scalar_subquery()
        .label("for_owner"),
    )
    query = select(*columns).join_from(Upvote, User, User.id == Upvote.user_id).where(Upvote.project_id == project_id)
    if counted is not None:
        query = query.where(COUNTS if counted else ~COUNTS)
    votes = fetch(query, NEWEST, window)
    votes.items = [_view(row) for row in votes.items]
    return votes


def summary(project_id: int) -> dict[str, int]:
    """The numbers of votes for a project by kind, in one statement.

    Each vote is either `counted`, `discounted` or `suspended`. The other kinds overlap with these.
    """
    suspended = and_(User.status != AccountStatus.ACTIVE, ~DISCOUNTED)
    kinds = {"counted": COUNTS, "discounted": DISCOUNTED, "suspended": suspended, **_rules()}
    of_vote = (case((condition, 1), else_=0).label(name) for name, condition in kinds.items())
    votes = _votes_of(project_id, *of_vote).subquery()
    sums = (func.coalesce(func.sum(votes.c[name]), 0).label(name) for name in kinds)
    return {name: int(n) for name, n in db.session.execute(select(*sums)).one()._mapping.items()}


def doubtful_projects(signs: Sequence[str] = RULES) -> list[dict[str, int]]:
    """The live projects with doubtful votes, by id, the most doubtful first, by one statement.

    Of the RECENT newest votes it reads those that count. An item has how many of these are for the project (`counted`),
    how many have any of the `signs` (`doubtful`), how many have each sign, and whether the share of those with any is
    over that of all these votes (`is_above`). The order is that of the doubtful ones times their share of the counted
    ones: so neither a single vote comes first, nor a small part of very many.
    """
    newest = select(Upvote).order_by(Upvote.created_at.desc()).limit(RECENT).subquery("recent")
    vote = aliased(Upvote, newest)
    has = [case((condition, 1), else_=0).label(sign) for sign, condition in _rules(vote).items()]
    signed = select(vote.project_id, *has).join_from(vote, User, User.id == vote.user_id)
    signed = signed.join(Project, Project.id == vote.project_id).where(Project.status == Status.LIVE, counts(vote))
    votes = signed.cte("signed").prefix_with("MATERIALIZED").c  # so that each sign is looked for once
    sums = [func.sum(votes[sign]).label(sign) for sign in RULES]
    doubtful = func.sum(case((or_(*(votes[sign] == 1 for sign in signs)), 1), else_=0))
    everywhere = select(doubtful.label("doubtful"), func.count().label("counted")).cte("everywhere").c
    is_above = doubtful * func.min(everywhere.counted) > func.count() * func.min(everywhere.doubtful)
    numbers = [func.count().label("counted"), doubtful.label("doubtful"), *sums, is_above.label("is_above")]
    query = select(votes.project_id.label("id"), *numbers).join(everywhere.counted.table, true())
    query = query.group_by(votes.project_id).having(doubtful > 0)
    query = query.order_by((doubtful * doubtful * 1.0 / func.count()).desc(), votes.project_id.desc())
    rows = db.session.execute(query)
    return [{name: int(n) for name, n in row._mapping.items()} | {"is_above": bool(row.is_above)} for row in rows]


def decide(
    project_id: int,
    decision: str,
    *,
    by: Caller,
    user_ids: Sequence[int] | None = None,
    match: Sequence[str] = (),
    reason: str | None = None,
) -> dict[str, int]:
    """Discount votes for a project or count them again: those of the users, or those that match any of the rules.

    Users without a vote are skipped, but a discount is lifted even if its vote was withdrawn. Votes that already have
    the state do not change. Returns the number of changed votes, and the project's number of votes.
    Raises Unauthenticated, NotFound.
    """
    require_active(by)
    locking = select(Project.id, Project.url_key, Project.title, Project.upvotes, Project.listed_at)
    locking = locking.where(Project.id == project_id).with_for_update(key_share=True)
    project = db.session.execute(locking).one_or_none()
    if project is None:
        raise NotFound
    change = _discount if decision == "discount" else _lift
    changed = change(project_id, user_ids, match)
    if not changed:
        return {"changed": 0, "upvotes": project.upvotes}
    counting = select(func.count()).select_from(Upvote).where(Upvote.project_id == project_id, COUNTS)
    upvotes = db.session.scalar(counting) or 0
    values = {"upvotes": upvotes, "hot": hot(upvotes, project.listed_at)}
    modify(update(Project).where(Project.id == project_id).values(values))
    votes = {"number": len(changed), "user_ids": changed}
    audit.record_project(ACTIONS[decision], project, by=by, reason=reason, votes=votes)
    return {"changed": len(changed), "upvotes": upvotes}


def _discount(project_id: int, user_ids: Sequence[int] | None, match: Sequence[str]) -> list[int]:
    """Discount votes that are not yet discounted, and return the ids of their voters.

    The users that are already discounted are read once. With a lookup for each vote, 100,000 votes took a minute: when
    PostgreSQL's statistics said that the table was empty, each lookup read all rows that the statement had inserted.
    """
    discounted = select(VoteDiscount.user_id).where(VoteDiscount.project_id == project_id)
    chosen = _votes_of(project_id, Upvote.user_id, Upvote.project_id).where(Upvote.user_id.not_in(discounted))
    chosen = chosen.where(_matches(match) if user_ids is None else Upvote.user_id.in_(user_ids))
    adding = insert(VoteDiscount).from_select(["user_id", "project_id"], chosen).returning(VoteDiscount.user_id)
    return sorted(db.session.scalars(adding))


def _lift(project_id: int, user_ids: Sequence[int] | None, match: Sequence[str]) -> list[int]:
    """Lift discounts, and return the ids of the users."""
    matching = _votes_of(project_id, Upvote.user_id).where(_matches(match))
    of_users = VoteDiscount.user_id.in_(matching if user_ids is None else user_ids)
    lifting = delete(VoteDiscount).where(VoteDiscount.project_id == project_id, of_users)
    lifted = lifting.returning(VoteDiscount.user_id)
    return sorted(db.session.scalars(lifted, execution_options=UNSYNCHRONISED))


def _votes_of(project_id: int, *columns: Any) -> Any:
    """Columns of the votes for a project, of their voters and of the project."""
    joined = select(*columns).join_from(Upvote, User, User.id == Upvote.user_id)
    return joined.join(Project, Project.id == Upvote.project_id).where(Upvote.project_id == project_id)


def _matches(match: Sequence[str]) -> ColumnElement[bool]:
    rules = _rules()
    return or_(false(), *(rules[name] for name in match))


def _rules(vote: Any = Upvote) -> dict[str, ColumnElement[bool]]:
    """The signs of a doubtful vote, as conditions on a row of votes, of their voters and of their projects."""
    others = exists().where(_Other.user_id == vote.user_id, _Other.project_id != vote.project_id)
    of_others = others.where(_Liked.id == _Other.project_id, _Liked.owner_id != Project.owner_id)
    return {
        "new_accounts": _day_after(User.created_at) > vote.created_at,
        "unverified": User.email_verified_at.is_(None),
        "single_owner": and_(others, ~of_others),
    }


def _day_after(instant: Any) -> ColumnElement[Any]:
    """24 hours later. SQLite's date functions drop microseconds, so there only the date part is advanced."""
    if on_postgresql():
        return cast(instant + text("interval '24 hours'"), UtcDateTime())
    return func.date(instant, "+1 day").concat(func.substr(instant, 11))


def _view(row: Any) -> dict[str, Any]:
    vote = as_dict(row)
    user = {name: vote.pop(name) for name in ("id", "username", "status", "created_at")}
    user["email_verified"] = vote.pop("email_verified_at") is not None
    return {"user": user, **vote}
