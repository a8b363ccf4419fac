"""The record of every change: the audit log, and the outbox of notifications."""

from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Date,
    Float,
    ForeignKey,
    Index,
    Integer,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.orm import Mapped, mapped_column

from directory.db.clock import now
from directory.extensions import db
from directory.models.base import BigId, DeliveryState, Id, Instant, JsonObject, one_of, only_where


class AuditEntry(db.Model):  # type: ignore[name-defined,misc]
    """One change, written in its transaction. Triggers refuse every update and delete.

    `project_id` is not a foreign key: the entry outlives the project, and `url_key` ties it to a later submission of
    the same URL. `project_title` is the project's title after the change, `changes` what an edit changed: by field an
    object with `from` and `to`. Both are null in entries older than the columns, and where the project went with its
    owner's account. `waited_seconds` is the time from
    submission to this decision. `votes` has of a decision about votes their number and the ids of the voters.
    `category_id` is, in the entry of a deletion, the last category of the project. `rule_id` is the rule that was
    changed, or that decided.
    """

    __tablename__ = "audit_entries"
    __table_args__ = (
        Index(None, "project_id", "id"),  # a project's history and timeline
        Index(None, "url_key", "id"),  # the history of the same URL
        Index(None, "user_id", "id"),  # what was done to a user
        Index(None, "actor_id", "id"),  # what a user did
        Index(None, "action", "id"),  # the log of an action
        Index(None, "action", "at", "waited_seconds", "actor_id"),  # the dashboard's waits and reviewers
        Index(None, "at", "id"),  # the log of a period
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    action: Mapped[str] = mapped_column(String(40))
    at: Mapped[Instant] = mapped_column(default=now)
    actor_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("users.id", ondelete="RESTRICT"))
    project_id: Mapped[int | None] = mapped_column(BigId)
    user_id: Mapped[int | None] = mapped_column(BigId)
    from_state: Mapped[str | None] = mapped_column(String(16))
    to_state: Mapped[str | None] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(String(1000))
    url_key: Mapped[str | None] = mapped_column(String(64))
    waited_seconds: Mapped[float | None] = mapped_column(Float(53))
    project_title: Mapped[str | None] = mapped_column(String(100))
    changes: Mapped[dict[str, Any] | None] = mapped_column(JsonObject)
    votes: Mapped[dict[str, Any] | None] = mapped_column(JsonObject)
    category_id: Mapped[int | None] = mapped_column(BigId)
    rule_id: Mapped[int | None] = mapped_column(BigId)


class AuditRetention(db.Model):  # type: ignore[name-defined,misc]
    """Which audit entries may be deleted: those before an instant, while there is a row.

    The row exists within the transaction that deletes them. A trigger refuses every other deletion.
    """

    __tablename__ = "audit_retention"

    before: Mapped[Instant] = mapped_column(primary_key=True)


class Delivery(db.Model):  # type: ignore[name-defined,misc]
    """The outbox: one notification for one endpoint. `payload` is the event's JSON, `endpoint` a configured name.

    A deliverer takes a due row by a lease with a fencing token; only the holder of the token may complete it.
    `attempts` counts the tries since it was last made due by hand, `settled_at` is when it was delivered or given up.
    """

    __tablename__ = "deliveries"
    __table_args__ = (
        one_of("state", DeliveryState),
        CheckConstraint("(lease_token IS NULL) = (leased_until IS NULL)", name="lease"),
        UniqueConstraint("webhook_id", "endpoint"),
        CheckConstraint("(state = 'pending') = (settled_at IS NULL)", name="settled"),
        Index(None, "state", "id"),  # the administrators' list by state; the age of the oldest
        Index(None, "endpoint", "id", "state"),  # the list of an endpoint; its numbers by state
        Index(None, "event", "id"),  # the list of an event
        Index(None, "project_id", "id"),  # the list of a project
        Index(None, "settled_at"),  # deliveries whose retention has ended
        # what is due, endpoint by endpoint
        Index("ix_deliveries_due", "endpoint", "next_attempt_at", "id", **only_where("state = 'pending'")),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    webhook_id: Mapped[str] = mapped_column(String(64))
    event: Mapped[str] = mapped_column(String(40))
    endpoint: Mapped[str] = mapped_column(String(300))
    project_id: Mapped[int | None] = mapped_column(BigId)
    payload: Mapped[str] = mapped_column(Text)
    state: Mapped[str] = mapped_column(String(16), default=DeliveryState.PENDING)
    attempts: Mapped[int] = mapped_column(Integer, default=0)
    created_at: Mapped[Instant] = mapped_column(default=now)
    next_attempt_at: Mapped[Instant] = mapped_column(default=now)
    leased_until: Mapped[Instant | None]
    lease_token: Mapped[str | None] = mapped_column(String(32))
    settled_at: Mapped[Instant | None]


class DeliveryAttempt(db.Model):  # type: ignore[name-defined,misc]
    """One try of a delivery: its time, the receiver's status or the error, the duration, the start of the answer."""

    __tablename__ = "delivery_attempts"
    __table_args__ = (
        Index(None, "delivery_id", "id"),  # a delivery's attempts
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    delivery_id: Mapped[int] = mapped_column(BigId, ForeignKey("deliveries.id", ondelete="CASCADE"))
    at: Mapped[Instant] = mapped_column(default=now)
    status: Mapped[int | None] = mapped_column(Integer)
    error: Mapped[str | None] = mapped_column(String(200))
    milliseconds: Mapped[int] = mapped_column(Integer)
    response: Mapped[str] = mapped_column(Text, default="")


class KnownTime(db.Model):  # type: ignore[name-defined,misc]
    """The last instant that housekeeping has taken for right: one row, or none in a new database."""

    __tablename__ = "known_time"

    name: Mapped[str] = mapped_column(String(20), primary_key=True)
    at: Mapped[Instant]


# The number of votes ("upvotes"), of registrations ("signups") and of the log's entries of an action, by UTC day: the
# sum of the rows of a kind and a day, which triggers add.
DAY_COUNTS = Table(
    "day_counts",
    db.metadata,
    Column("kind", String(40), nullable=False),
    Column("day", Date, nullable=False),
    Column("number", BigId, nullable=False),
    Index(None, "kind", "day"),
)
