"""Who may do what: every question about what a caller is or owns is asked here.

It is answered from what the caller of a request has, or from the account as it is now.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal, TypeVar

from sqlalchemy import ColumnElement, bindparam, or_, select, true

from directory.db.statements import Prepared
from directory.errors import EmailNotVerified, NotFound, NotOwner, OwnSubmission, Unauthenticated
from directory.extensions import db
from directory.models import AccountStatus, Category, Role, Status, User, role_of
from directory.services.identity import Caller

T = TypeVar("T")
Action = Literal["review", "administer"]
ACTIONS: tuple[Action, ...] = ("review", "administer")
NEED_PASSKEY = {"none": set(), "admins": {Role.ADMIN}, "reviewers": {Role.ADMIN, Role.REVIEWER}}  # by REQUIRE_PASSKEY
_USER = User.__table__.c
_PRESENT = Prepared(
    select(role_of(_USER), _USER.review_categories).where(
        _USER.id == bindparam("id"), _USER.status == AccountStatus.ACTIVE.value
    )
)


def as_allowed(caller: Caller, settings: Mapping[str, Any]) -> Caller:
    """The caller as the settings have it.

    Who must sign in with a passkey and has not is treated as a member everywhere. Without SIGNUP_DOMAINS nobody has to
    confirm an address before anything else.
    """
    if caller.unconfirmed and not settings["SIGNUP_DOMAINS"]:
        caller = replace(caller, unconfirmed=False)
    if not caller.by_passkey and caller.role in NEED_PASSKEY[settings["REQUIRE_PASSKEY"]]:
        return replace(caller, role=Role.MEMBER.value, role_by_passkey=caller.role)
    return caller


def require_person(by: Caller | None) -> Caller:
    """The caller, if it is a person who may do what members do. Raises Unauthenticated, EmailNotVerified."""
    if by is None:
        raise Unauthenticated
    if by.unconfirmed:
        raise EmailNotVerified
    return by


def may(by: Caller | None, action: Action, category_id: int | None = None) -> bool:
    """Whether the caller may do this: with `category_id` in this category, otherwise in any at all.

    An administrator may do both everywhere, a reviewer may review. A project belongs to its live category, whatever its
    revision says.
    """
    if by is None:
        return False
    if by.role == Role.ADMIN:
        return True
    if action == "administer" or by.role != Role.REVIEWER:
        return False
    return category_id is None or by.review_categories is None or category_id in by.review_categories


def named(by: Caller | None) -> list[Action]:
    """What the caller may do, as answers name it."""
    return [action for action in ACTIONS if may(by, action)]


def categories(by: Caller) -> tuple[int, ...] | None:
    """The ids of the categories that the caller may review; None for all."""
    if not may(by, "review"):
        return ()
    return by.review_categories if by.role == Role.REVIEWER else None


def within(category_id: ColumnElement[int], by: Caller) -> ColumnElement[bool]:
    """The condition of a statement: the column `category_id` is a category that the caller may review."""
    some = categories(by)
    return true() if some is None else category_id.in_(some)


def needs_passkey(by: Caller | None, action: Action | None = None) -> bool:
    """Whether the caller may do more, or this, in a session that a passkey opened."""
    if by is None or by.role_by_passkey is None:
        return False
    return action is None or may(replace(by, role=by.role_by_passkey), action)


def owns(by: Caller | None, owner_id: int) -> bool:
    """Whether what has this owner is the caller's own."""
    return by is not None and by.id == owner_id


def owns_or_administers(by: Caller | None, owner_id: int) -> bool:
    """Whether the caller sees and changes all of a project of this owner."""
    return by is not None and (by.id == owner_id or may(by, "administer"))  # lists ask for each of their projects


def refuses_own(self_review: str) -> bool:
    """Whether nobody decides about their own, by SELF_REVIEW."""
    return self_review == "refuse"


def is_refused_own(by: Caller | None, owner_id: int, self_review: str) -> bool:
    """Whether a project is the caller's own, about which nobody decides; None is a command of the operator."""
    return refuses_own(self_review) and owns(by, owner_id)


def as_editor(by: Caller, owner_id: int, self_review: str) -> Caller:
    """The caller as who edits a project of this owner: a member, if it is their own and nobody decides about that."""
    return replace(by, role=Role.MEMBER) if is_refused_own(by, owner_id, self_review) else by


# About a project: a row with what the question needs of `owner_id`, `status` and `category_id`; None if there is none.


def require_owner(by: Caller, project: Any) -> None:
    """Raise NotFound unless the project is the caller's own."""
    if project is None or not owns(by, project.owner_id):
        raise NotFound


def require_editor(by: Caller, project: Any) -> None:
    """Raise NotFound or NotOwner unless the caller owns the project or administers."""
    if project is None:
        raise NotFound
    if not owns_or_administers(by, project.owner_id):
        raise NotOwner if project.status == Status.LIVE else NotFound


def require_reviewer(by: Caller, project: T | None, self_review: str = "allow") -> T:
    """The project. Raises NotFound unless the caller may review it, and OwnSubmission if they may not decide on it."""
    row: Any = project
    if project is None or not may(by, "review", row.category_id):
        raise NotFound
    if refuses_own(self_review) and owns(by, row.owner_id):
        raise OwnSubmission
    return project


def somebody_else_may(barred: Collection[int], action: Action, category_id: int) -> bool:
    """Whether another active account than the barred ones may do this in a category."""
    return any(may(person, action, category_id) for person in reviewers(_USER.id.not_in(barred)))


def reviewers(*conditions: ColumnElement[bool]) -> list[Caller]:
    """The active accounts that may review something and meet the conditions, by one statement."""
    columns = select(_USER.id, _USER.username, role_of(_USER), _USER.review_categories)
    may_review = or_(_USER.role == Role.ADMIN.value, _USER.is_reviewer)
    query = columns.where(may_review, _USER.status == AccountStatus.ACTIVE.value)
    return [
        Caller(user_id, username, role, review_categories=None if some is None else tuple(some))
        for user_id, username, role, some in db.session.execute(query.where(*conditions))
    ]


def still(by: Caller, action: Action) -> bool:
    """Whether the caller may do this now, as far as other transactions have committed, and has lost no category."""
    row = _PRESENT.first({"id": by.id})
    if row is None:
        return False
    role, some = row
    now = replace(by, role=role, review_categories=some)
    if not may(now, action):
        return False
    had, has = categories(by), categories(now)
    return has is None or (had is not None and {*had} <= {*has})


def slugs(*lists: list[int] | None) -> list[list[str] | None]:
    """Stored lists of categories as answers have them: the sorted slugs of those that still exist, None for all."""
    ids = {category_id for some in lists for category_id in some or ()}
    named = (
        dict(db.session.execute(select(Category.id, Category.slug).where(Category.id.in_(ids))).all()) if ids else {}
    )
    return [
        None if some is None else sorted(named[category_id] for category_id in some if category_id in named)
        for some in lists
    ]
