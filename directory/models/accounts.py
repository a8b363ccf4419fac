"""Accounts, browser sessions, API tokens and mailed links."""

from typing import Any

from sqlalchemy import (
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    String,
    UniqueConstraint,
    case,
    false,
    literal_column,
    true,
)
from sqlalchemy.ext.hybrid import hybrid_property
from sqlalchemy.orm import Mapped, mapped_column

from directory.db.clock import now
from directory.extensions import db
from directory.models.base import (
    LOCAL,
    AccountStatus,
    BigId,
    Id,
    Instant,
    JsonIds,
    LinkPurpose,
    Role,
    one_of,
    only_where,
)

STORED_ROLES = (Role.MEMBER, Role.ADMIN)


def role_of(users: Any) -> ColumnElement[str]:
    """The role of an account in a statement, from the columns of the table of users or of an alias."""
    return _role(users.is_reviewer, users.role)


def _role(is_reviewer: Any, stored_role: Any) -> ColumnElement[str]:
    return case((is_reviewer, literal_column(f"'{Role.REVIEWER}'", String())), else_=stored_role)


def stored_as(role: str) -> dict[str, Any]:
    """The columns that store a role, with their values. Raises ValueError for an unknown one."""
    is_reviewer = Role(role) == Role.REVIEWER
    return {"stored_role": Role.MEMBER if is_reviewer else Role(role), "is_reviewer": is_reviewer}


class User(db.Model):  # type: ignore[name-defined,misc]
    """An account. Its row is never deleted, because live projects and the audit log refer to it.

    A deleted account has `deleted_at` and is suspended. Its `username` and `email` are both `deleted-[id]`, which is
    not an address, and its `password_hash` is empty. `notify` says whether decisions about the user's projects are
    mailed. `may_rename` is true until the user of an account that a provider opened has chosen the username.
    `review_categories` are the ids of the categories that a reviewer may review, null for all; ids of deleted
    categories may be among them, and no other category gets one. `role_source` is LOCAL, or the name of the provider
    that gave the role; then `local_role` and `local_categories` keep what was given by hand before, and apply again
    when the provider's role ends. With `must_verify` the account may do little until its address is confirmed.
    `feed_key_hash` is the SHA-256 of the key in the address of its feed, null without one. `language` is the tag of the
    language that the user has chosen, null if none.
    Triggers maintain `user_counts` and `user_submissions`, and begin `last_uses`.

    `role` is what the service calls the role. The database stores a reviewer as a member with `is_reviewer`, because
    processes of the version before know no other role than member and admin.
    """

    __tablename__ = "users"
    __table_args__ = (
        UniqueConstraint("username"),  # login by name, the users list by name
        UniqueConstraint("email"),  # login by e-mail
        one_of("role", STORED_ROLES),
        one_of("status", AccountStatus),
        Index(None, "created_at", "id"),  # the users list, newest first; signups a day
        Index(None, "role", "status", "id"),  # the active administrators, for the rule of the last administrator
        # The reviewers and their number.
        Index("ix_users_reviewers", "status", "id", **only_where("is_reviewer", "is_reviewer = 1")),
        Index(None, "feed_key_hash"),  # each read of a feed by its key
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    username: Mapped[str] = mapped_column(String(32))
    email: Mapped[str] = mapped_column(String(254))
    password_hash: Mapped[str] = mapped_column(String(200))
    stored_role: Mapped[str] = mapped_column("role", String(16), default=Role.MEMBER)
    is_reviewer: Mapped[bool] = mapped_column(default=False, server_default=false())
    status: Mapped[str] = mapped_column(String(16), default=AccountStatus.ACTIVE)
    created_at: Mapped[Instant] = mapped_column(default=now)
    deleted_at: Mapped[Instant | None]
    email_verified_at: Mapped[Instant | None]
    notify: Mapped[bool] = mapped_column(default=True, server_default=true())
    may_rename: Mapped[bool] = mapped_column(default=False, server_default=false())
    review_categories: Mapped[list[int] | None] = mapped_column(JsonIds)
    role_source: Mapped[str] = mapped_column(String(16), default=LOCAL, server_default=LOCAL)
    local_role: Mapped[str | None] = mapped_column(String(16))
    local_categories: Mapped[list[int] | None] = mapped_column(JsonIds)
    must_verify: Mapped[bool] = mapped_column(default=False, server_default=false())
    feed_key_hash: Mapped[str | None] = mapped_column(String(64))
    language: Mapped[str | None] = mapped_column(String(35))

    @hybrid_property
    def role(self) -> str:
        """The role of the account."""
        return Role.REVIEWER if self.is_reviewer else self.stored_role

    @role.inplace.setter
    def _set_role(self, role: str) -> None:
        for name, value in stored_as(role).items():
            setattr(self, name, value)

    @role.inplace.expression
    @classmethod
    def _role_in_sql(cls) -> ColumnElement[str]:
        return _role(cls.is_reviewer, cls.stored_role)

    @role.inplace.update_expression
    @classmethod
    def _update_role(cls, value: Any) -> list[tuple[Any, Any]]:
        return [(getattr(cls, name), stored) for name, stored in stored_as(value).items()]

    @property
    def email_verified(self) -> bool:
        """Whether a link that was mailed to the address has come back."""
        return self.email_verified_at is not None

    @property
    def is_admin(self) -> bool:
        """True exactly when the role is admin."""
        return self.role == Role.ADMIN


class UserCount(db.Model):  # type: ignore[name-defined,misc]
    """The number of users of a role and a status, which the list's total and the dashboard read instead of counting."""

    __tablename__ = "user_counts"
    __table_args__ = (CheckConstraint("users >= 0", name="users"),)

    role: Mapped[str] = mapped_column(String(16), primary_key=True)
    status: Mapped[str] = mapped_column(String(16), primary_key=True)
    users: Mapped[int] = mapped_column(BigId)


class UserSubmissions(db.Model):  # type: ignore[name-defined,misc]
    """A user's number of projects, counted by triggers; the list of users can be ordered by it."""

    __tablename__ = "user_submissions"
    __table_args__ = (
        CheckConstraint("submissions >= 0", name="submissions"),
        Index(None, "submissions", "user_id"),  # the users list by submissions
    )

    user_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    submissions: Mapped[int] = mapped_column(BigId, default=0)


class LastUse(db.Model):  # type: ignore[name-defined,misc]
    """When an account was last used; NEVER until the first sign-in. A trigger adds the row of a new user.

    It is a table of its own because votes write it: a row of `users` would take an entry in each of its indexes. It is
    written under the lock of the user's row.
    """

    __tablename__ = "last_uses"
    __table_args__ = (Index(None, "seen_at", "user_id"),)  # the users list by last use

    user_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    seen_at: Mapped[Instant]


class MailLink(db.Model):  # type: ignore[name-defined,misc]
    """A link that is mailed, and works once until it expires: who holds its token reads the mail of `email`.

    A notice of a changed address or password is such a row as well: it holds the address that the notice is mailed to,
    and its token is given to no caller. The token is made of `nonce` by the service's key, and stored as its SHA-256
    alone. `user_id` is null, and `email` empty, for a request that must not lead to a mail, such as one about a login
    that no account has: it writes what a request for an account writes.
    """

    __tablename__ = "mail_links"
    __table_args__ = (
        one_of("purpose", LinkPurpose),
        UniqueConstraint("token_hash"),  # a token that comes back
        Index(None, "user_id"),  # the links of a user; ending them all
        Index(None, "expires_at"),  # links that have expired
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    user_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("users.id", ondelete="CASCADE"))
    purpose: Mapped[str] = mapped_column(String(16))
    email: Mapped[str] = mapped_column(String(254))
    nonce: Mapped[str] = mapped_column(String(64))
    token_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[Instant] = mapped_column(default=now)
    expires_at: Mapped[Instant]


class Session(db.Model):  # type: ignore[name-defined,misc]
    """A signed-in browser. The cookie's 256-bit id is stored as its SHA-256 alone.

    `by_passkey` says whether a passkey opened it, `by_provider` whether a provider did.
    """

    __tablename__ = "sessions"
    __table_args__ = (
        UniqueConstraint("token_hash"),  # every request with a cookie
        Index(None, "user_id"),  # a user's sessions; ending them all
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="CASCADE"))
    token_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[Instant] = mapped_column(default=now)
    last_seen_at: Mapped[Instant] = mapped_column(default=now)
    user_agent: Mapped[str] = mapped_column(String(300), default="")
    by_passkey: Mapped[bool] = mapped_column(default=False, server_default=false())
    by_provider: Mapped[bool] = mapped_column(default=False, server_default=false())


class Token(db.Model):  # type: ignore[name-defined,misc]
    """An API token of a user, stored as its SHA-256 alone. One that was made by a token ends with that, its parent.

    `by_passkey` says whether it was made in a session that a passkey opened, or by such a token.
    """

    __tablename__ = "tokens"
    __table_args__ = (
        UniqueConstraint("token_hash"),  # every request with a bearer token
        Index(None, "user_id"),  # a user's tokens; ending them all
        Index(None, "parent_id"),  # the tokens that end with one
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    token_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[Instant] = mapped_column(default=now)
    expires_at: Mapped[Instant | None]
    last_used_at: Mapped[Instant | None]
    parent_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("tokens.id", ondelete="CASCADE"))
    by_passkey: Mapped[bool] = mapped_column(default=False, server_default=false())


class DailyBytes(db.Model):  # type: ignore[name-defined,misc]
    """How many bytes an account has stored on the last day (by the calendar, of UTC) on which it stored any."""

    __tablename__ = "daily_bytes"

    account_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    day: Mapped[int] = mapped_column(Integer)
    bytes: Mapped[int] = mapped_column(BigId)
