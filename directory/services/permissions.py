"""What a person may do besides what every member may: review, in all categories or in some, and administer.

It is answered from what the caller of a request has, or from the account as it is now.
"""

from collections.abc import Collection
from dataclasses import replace
from typing import Literal

from sqlalchemy import ColumnElement, bindparam, or_, select, true

from directory.db.statements import Prepared
from directory.extensions import db
from directory.models import AccountStatus, Category, Role, User, role_of
from directory.services.identity import Caller

Action = Literal["review", "administer"]
ACTIONS: tuple[Action, ...] = ("review", "administer")
_USER = User.__table__.c
_PRESENT = Prepared(
    select(role_of(_USER), _USER.review_categories).where(
        _USER.id == bindparam("id"), _USER.status == AccountStatus.ACTIVE.value
    )
)


def may(by: Caller, action: Action, category_id: int | None = None) -> bool:
    """Whether the caller may do this: with `category_id` in this category, otherwise in any at all.

    An administrator may do both everywhere, a reviewer may review. A project belongs to its live category, whatever its
    revision says.
    """
    if by.role == Role.ADMIN:
        return True
    if action == "administer" or by.role != Role.REVIEWER:
        return False
    return category_id is None or by.review_categories is None or category_id in by.review_categories


def named(by: Caller | None) -> list[Action]:
    """What the caller may do, as answers name it."""
    return [] if by is None else [action for action in ACTIONS if may(by, action)]


def categories(by: Caller) -> tuple[int, ...] | None:
    """The ids of the categories that the caller may review; None for all."""
    if not may(by, "review"):
        return ()
    return by.review_categories if by.role == Role.REVIEWER else None


def within(category_id: ColumnElement[int], by: Caller) -> ColumnElement[bool]:
    """The condition of a statement: the column `category_id` is a category that the caller may review."""
    some = categories(by)
    return true() if some is None else category_id.in_(some)


def as_editor(by: Caller, owner_id: int, self_review: str) -> Caller:
    """The caller as who edits a project of this owner: a member, if SELF_REVIEW is `refuse` and it is their own."""
    return replace(by, role=Role.MEMBER) if is_refused_own(by, owner_id, self_review) else by


def is_refused_own(by: Caller | None, owner_id: int, self_review: str) -> bool:
    """Whether a project is the caller's own and SELF_REVIEW is `refuse`; None is a command of the operator."""
    return self_review == "refuse" and by is not None and by.id == owner_id


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
    ids = {each for some in lists for each in some or ()}
    named = (
        dict(db.session.execute(select(Category.id, Category.slug).where(Category.id.in_(ids))).all()) if ids else {}
    )
    return [None if some is None else sorted(named[each] for each in some if each in named) for some in lists]
