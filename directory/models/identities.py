"""Identities at providers, passkeys, and sign-ins under way."""

from sqlalchemy import ForeignKey, Index, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from directory.db.clock import now
from directory.extensions import db
from directory.models.base import BigId, Id, Instant


class Identity(db.Model):  # type: ignore[name-defined,misc]
    """An account at a provider, by which its user signs in here. `email` is the last that the provider returned.

    `subject` is what the provider calls the account; together with `issuer` it names it for ever.
    """

    __tablename__ = "identities"
    __table_args__ = (
        UniqueConstraint("issuer", "subject"),  # every sign-in; no identity belongs to two accounts
        Index(None, "user_id"),  # a user's identities; ending them all
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="CASCADE"))
    issuer: Mapped[str] = mapped_column(String(500))
    subject: Mapped[str] = mapped_column(String(255))
    email: Mapped[str | None] = mapped_column(String(254))
    created_at: Mapped[Instant] = mapped_column(default=now)
    last_used_at: Mapped[Instant] = mapped_column(default=now)


class SignInAttempt(db.Model):  # type: ignore[name-defined,misc]
    """A sign-in from when a browser leaves for a provider until it comes back, once; or a link that signs in, once.

    The state that goes along is stored as its SHA-256 alone, and so is the secret of the browser's cookie. `user_id` is
    of the account that asks for an identity to be joined to it, null for a sign-in. A link of the operator has the
    account that it signs in to, an empty provider and no browser.
    """

    __tablename__ = "sign_in_attempts"
    __table_args__ = (
        UniqueConstraint("state_hash"),  # a state that comes back
        Index(None, "user_id"),  # ending those of a user
        Index(None, "expires_at"),  # those that have expired
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    state_hash: Mapped[str] = mapped_column(String(64))
    browser_hash: Mapped[str] = mapped_column(String(64))
    provider: Mapped[str] = mapped_column(String(16))
    next_path: Mapped[str] = mapped_column(String(1000))
    user_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("users.id", ondelete="CASCADE"))
    created_at: Mapped[Instant] = mapped_column(default=now)
    expires_at: Mapped[Instant]


class Passkey(db.Model):  # type: ignore[name-defined,misc]
    """A passkey (a WebAuthn credential) of a user: its id and public key, in base64url, and its signature counter.

    The counter is that of the last sign-in; an authenticator that does not count leaves it at 0.
    """

    __tablename__ = "passkeys"
    __table_args__ = (
        UniqueConstraint("credential_id"),  # every sign-in; no credential belongs to two accounts
        Index(None, "user_id"),  # a user's passkeys; ending them all
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    user_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="CASCADE"))
    credential_id: Mapped[str] = mapped_column(String(1400))
    public_key: Mapped[str] = mapped_column(String(2000))
    sign_count: Mapped[int] = mapped_column(BigId, default=0)
    name: Mapped[str] = mapped_column(String(100))
    created_at: Mapped[Instant] = mapped_column(default=now)
    last_used_at: Mapped[Instant | None]


class PasskeyChallenge(db.Model):  # type: ignore[name-defined,misc]
    """A challenge that a passkey signs once, stored as its SHA-256 alone.

    `session_id` is of the session that registers a passkey; it is null for a sign-in.
    """

    __tablename__ = "passkey_challenges"
    __table_args__ = (
        UniqueConstraint("challenge_hash"),  # a challenge that comes back
        Index(None, "session_id"),  # those that end with a session
        Index(None, "expires_at"),  # those that have expired
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    challenge_hash: Mapped[str] = mapped_column(String(64))
    session_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("sessions.id", ondelete="CASCADE"))
    created_at: Mapped[Instant] = mapped_column(default=now)
    expires_at: Mapped[Instant]
