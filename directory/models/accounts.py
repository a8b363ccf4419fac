"""Accounts, browser sessions and API tokens."""

from sqlalchemy import CheckConstraint, ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from directory.extensions import db
from directory.models.base import NEVER, AccountStatus, BigId, Id, Instant, Role, now, one_of


class User(db.Model):  # type: ignore[name-defined,misc]
    """An account. Its row is never deleted, because live projects and the audit log refer to it.

    A deleted account has `deleted_at` and is suspended. Its `username` and `email` are both `deleted-[id]`, which is no
    address, and its `password_hash` is empty. `last_seen_at` is NEVER until the first sign-in. Triggers maintain
    `user_counts` and `user_submissions`.
    """

    __tablename__ = "users"
    __table_args__ = (
        UniqueConstraint("username"),  # login by name, the users list by name
        UniqueConstraint("email"),  # login by e-mail
        one_of("role", Role),
        one_of("status", AccountStatus),
        Index(None, "created_at", "id"),  # the users list, newest first; signups a day
        Index(None, "role", "status", "id"),  # the active administrators, for the rule of the last administrator
        Index(None, "last_seen_at", "id"),  # the users list by last use
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    username: Mapped[str] = mapped_column(String(32))
    email: Mapped[str] = mapped_column(String(254))
    password_hash: Mapped[str] = mapped_column(String(200))
    role: Mapped[str] = mapped_column(String(16), default=Role.MEMBER)
    status: Mapped[str] = mapped_column(String(16), default=AccountStatus.ACTIVE)
    created_at: Mapped[Instant] = mapped_column(default=now)
    last_seen_at: Mapped[Instant] = mapped_column(default=NEVER)
    deleted_at: Mapped[Instant | None]

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
    """How many projects there are of a user, counted by triggers: the users list by submissions is in its order."""

    __tablename__ = "user_submissions"
    __table_args__ = (
        CheckConstraint("submissions >= 0", name="submissions"),
        Index(None, "submissions", "user_id"),  # the users list by submissions
    )

    user_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("users.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    submissions: Mapped[int] = mapped_column(BigId, default=0)


class Session(db.Model):  # type: ignore[name-defined,misc]
    """A signed-in browser. The cookie's 256-bit id is stored as its SHA-256 alone."""

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


class Token(db.Model):  # type: ignore[name-defined,misc]
    """An API token of a user, stored as its SHA-256 alone."""

    __tablename__ = "tokens"
    __table_args__ = (
        UniqueConstraint("token_hash"),  # every request with a bearer token
        Index(None, "user_id"),  # a user's tokens; ending them all
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(String(100))
    token_hash: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[Instant] = mapped_column(default=now)
    expires_at: Mapped[Instant | None]
    last_used_at: Mapped[Instant | None]
