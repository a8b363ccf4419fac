"""Users with their statistics for administrators, and the public profile of a user."""

from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, and_, bindparam, func, literal, not_, or_, select, true

from directory.db.paging import AnySelect, Slice, Sort, Window, fetch
from directory.db.statements import Prepared, among
from directory.errors import NotFound
from directory.extensions import db
from directory.models import NEVER, LastUse, Project, Role, Status, Upvote, User, UserCount, UserSubmissions, stored_as
from directory.services import permissions
from directory.services.text.rules import ascii_address

SORTS = {
    "newest": Sort((User.created_at, User.id), descending=True),
    "username": Sort((User.username,), descending=False),
    "submissions": Sort((UserSubmissions.submissions, UserSubmissions.user_id), descending=True),
    "last_seen": Sort((LastUse.seen_at, LastUse.user_id), descending=True),
}
COLUMNS = (
    User.id,
    User.username,
    User.email,
    User.role,
    User.status,
    User.created_at,
    User.deleted_at,
    User.email_verified_at,
    User.notify,
    User.may_rename,
    User.review_categories,
    User.role_source,
)
NAMES = [column.key for column in COLUMNS]
# The orders by a column of another table, which has a row for each user.
_JOINED: dict[str, Any] = {"submissions": UserSubmissions, "last_seen": LastUse}


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of the list of users; None is no filter.

    `q` is a part of the username or e-mail address, `email_domain` what comes after the @. `created_from` is inclusive,
    `created_to` exclusive. `live` is whether one of the user's projects is or was live. With `outside`, entries of
    SIGNUP_DOMAINS, only users whose e-mail address is in none of these domains match.
    """

    q: str | None = None
    role: str | None = None
    status: str | None = None
    created_from: datetime | None = None
    created_to: datetime | None = None
    email_domain: str | None = None
    email_verified: bool | None = None
    live: bool | None = None
    outside: tuple[str, ...] | None = None


def page(filters: Filters, sort: str, window: Window) -> Slice:
    """A slice of the users, by one statement, with statistics and last uses, by another one."""
    query: AnySelect = select(*COLUMNS).where(condition(filters))
    if other := _JOINED.get(sort):
        query = query.join(other, other.user_id == User.id)
    users = fetch(query, SORTS[sort], window)
    users.items = _views(users.items)
    return users


def total(filters: Filters) -> int:
    """How many users match: a sum of stored counters, or a count if there are other filters than role and status.

    Reviewers, who are few, are counted: the counters have them among the members.
    """
    if filters.role == Role.REVIEWER or filters != Filters(role=filters.role, status=filters.status):
        return db.session.scalar(select(func.count()).select_from(User).where(condition(filters))) or 0
    pairs = ((UserCount.role, filters.role), (UserCount.status, filters.status))
    number = db.session.scalar(select(func.sum(UserCount.users)).where(*(a == b for a, b in pairs if b is not None)))
    reviewers = total(replace(filters, role=Role.REVIEWER)) if filters.role == Role.MEMBER else 0
    return int(number or 0) - reviewers


def one(user_id: int) -> dict[str, Any]:
    """A user with statistics. Raises NotFound."""
    row = db.session.execute(select(*COLUMNS).where(User.id == user_id)).one_or_none()
    if row is None:
        raise NotFound
    return _views([row])[0]


def names(user_ids: list[int]) -> list[str]:
    """The usernames of some users, in the order of their ids."""
    return list(db.session.scalars(select(User.username).where(User.id.in_(user_ids)).order_by(User.id)))


def _of_other_tables(user_ids: list[int]) -> dict[int, dict[str, Any]]:
    """When each user was last here, and the numbers of their projects and votes."""
    rows = _statistics(db.engine.dialect.name).all({"ids": user_ids})
    return {
        user_id: {"last_seen_at": None if seen_at == NEVER else seen_at, "stats": _figures(*figures)}
        for user_id, seen_at, *figures in rows
    }


@cache
def _statistics(dialect: str) -> Prepared:
    own = (
        select(
            Project.owner_id,
            *(func.count().filter(Project.status == status).label(status) for status in Status),
            func.count().label("total"),
            func.sum(Project.upvotes).label("received"),
            func.max(Project.created_at).label("last_submission_at"),
        )
        .where(among(Project.owner_id, dialect))
        .group_by(Project.owner_id)
        .subquery()
    )
    votes = (
        select(Upvote.user_id, func.count().label("given"))
        .where(among(Upvote.user_id, dialect))
        .group_by(Upvote.user_id)
        .subquery()
    )
    o = own.c
    named = (*Status, "total", "received", "last_submission_at")
    query = (
        select(LastUse.user_id, LastUse.seen_at, *(o[name] for name in named), votes.c.given)
        .outerjoin(own, o.owner_id == LastUse.user_id)
        .outerjoin(votes, votes.c.user_id == LastUse.user_id)
        .where(among(LastUse.user_id, dialect))
    )
    return Prepared(query)


def _figures(*figures: Any) -> dict[str, Any]:
    *projects, received, last_submission_at, upvotes = figures
    return {
        "projects": {name: n or 0 for name, n in zip((*Status, "total"), projects, strict=True)},
        "upvotes_given": upvotes or 0,
        "upvotes_received": int(received or 0),
        "last_submission_at": last_submission_at,
    }


def _views(rows: list[Any]) -> list[dict[str, Any]]:
    """Rows of COLUMNS as administrators see users."""
    others = _of_other_tables([row.id for row in rows])
    slugs = permissions.slugs(*(row.review_categories for row in rows))
    return [{**_view(row, others[row.id]), "review_categories": some} for row, some in zip(rows, slugs, strict=True)]


def _view(row: Any, others: dict[str, Any]) -> dict[str, Any]:
    user = {name: getattr(row, name) for name in NAMES}
    user["email_verified"] = user.pop("email_verified_at") is not None
    return {**user, **others, "is_admin": user["role"] == Role.ADMIN}


def condition(filters: Filters) -> ColumnElement[bool]:
    """Whether a user matches the filters."""
    terms = _role_and_status(filters)
    if filters.created_from is not None:
        terms.append(User.created_at >= filters.created_from)
    if filters.created_to is not None:
        terms.append(User.created_at < filters.created_to)
    if filters.email_domain is not None:
        terms.append(User.email.endswith(f"@{filters.email_domain}", autoescape=True))
    if filters.email_verified is not None:
        terms.append(
            User.email_verified_at.is_not(None) if filters.email_verified else User.email_verified_at.is_(None)
        )
    if filters.live is not None:
        published = select(Project.id).where(Project.owner_id == User.id, Project.published_at.is_not(None)).exists()
        terms.append(published if filters.live else ~published)
    if filters.outside is not None:
        terms.append(is_outside(filters.outside))
    if filters.q is not None:
        columns = (User.username, User.email)  # both stored in lower case
        text = ascii_address(filters.q).lower()
        terms.append(or_(*(column.contains(text, autoescape=True) for column in columns)))
    return and_(true(), *terms)


def _role_and_status(filters: Filters) -> list[ColumnElement[bool]]:
    if filters.role == Role.REVIEWER:  # by the index of the reviewers: no other condition, and no parameter
        return [and_(User.is_reviewer), *_role_and_status(replace(filters, role=None))]
    values = {} if filters.role is None else stored_as(filters.role)
    values |= {} if filters.status is None else {"status": filters.status}
    return [getattr(User, name) == value for name, value in values.items()]


def public(username: str) -> dict[str, Any]:
    """An active account, with the numbers of its live projects and of the votes for these. Raises NotFound."""
    row = _public().first({"username": username})
    if row is None:
        raise NotFound
    name, created_at, projects, upvotes = row
    return {"username": name, "created_at": created_at, "live_projects": projects, "upvotes_received": int(upvotes)}


@cache
def _public() -> Prepared:
    user, project = User.__table__.c, Project.__table__.c
    live = and_(project.owner_id == user.id, project.status == literal("live"))
    query = select(user.username, user.created_at, func.count(project.id), func.coalesce(func.sum(project.upvotes), 0))
    query = query.select_from(User.__table__.outerjoin(Project.__table__, live))
    query = query.where(user.username == bindparam("username"), user.status == literal("active"))
    return Prepared(query.group_by(user.id, user.username, user.created_at))


# Entries of SIGNUP_DOMAINS: a domain in ASCII (A-labels), or one after `*.` for all below it.
BELOW = "*"


def admits(domains: tuple[str, ...], email: str) -> bool:
    """Whether an address, as it is stored, is in one of the domains; without domains each is."""
    return not domains or email.endswith(tuple(ending(domain) for domain in domains))


def is_outside(domains: tuple[str, ...]) -> ColumnElement[bool]:
    """The condition of accounts whose address is in none of the domains; a deleted account has no address."""
    ends = (User.email.endswith(ending(domain), autoescape=True) for domain in domains)
    return User.deleted_at.is_(None) & not_(or_(*ends))


def ending(entry: str) -> str:
    """What addresses of an entry end with: `@example.org`, or `.example.org` where it stands for all domains below."""
    return entry.removeprefix(BELOW) if entry.startswith(BELOW) else f"@{entry}"
