"""Reports: what visitors say is wrong with a live project."""

from enum import StrEnum

from sqlalchemy import CheckConstraint, ForeignKey, Index, String
from sqlalchemy.orm import Mapped, mapped_column

from directory.db.clock import now
from directory.extensions import db
from directory.models.base import BigId, Id, Instant, one_of, only_where

OPEN = "settled_at IS NULL"


class ReportKind(StrEnum):
    """What is said to be wrong with a project."""

    BROKEN_LINK = "broken_link"
    SPAM = "spam"
    HARMFUL = "harmful"
    WRONG_FACTS = "wrong_facts"
    MINE = "mine"
    OTHER = "other"


class ReportOutcome(StrEnum):
    """How a report was settled."""

    ACTED = "acted"
    UNFOUNDED = "unfounded"


class Report(db.Model):  # type: ignore[name-defined,misc]
    """A report about a project by a member, or by an anonymous caller.

    An anonymous caller is known by `address_key`, a keyed hash of the address, for as long as the report is open. Every
    change of a report, and every new one, locks the project first. `project_id` is not a foreign key: a member's report
    outlives the project. Triggers on `projects` settle the reports about a project that is no longer live, and then
    store its title in `project_title`; reports of anonymous callers go with the project.
    """

    __tablename__ = "reports"
    __table_args__ = (
        one_of("kind", ReportKind),
        one_of("outcome", ReportOutcome),
        CheckConstraint("(settled_at IS NULL) = (outcome IS NULL)", name="settled"),
        CheckConstraint("address_key IS NULL OR (reporter_id IS NULL AND settled_at IS NULL)", name="address_key"),
        # One open report for each caller and project.
        Index("uq_reports_of_member", "project_id", "reporter_id", unique=True, **only_where(OPEN)),
        Index("uq_reports_of_address", "project_id", "address_key", unique=True, **only_where(OPEN)),
        Index(None, "project_id", "settled_at", "id"),  # the reports about a project
        Index("ix_reports_open", "id", **only_where(OPEN)),  # the open ones, oldest first
        Index(None, "settled_at", "id", **only_where("settled_at IS NOT NULL")),  # the others, by their settlement
        Index(None, "reporter_id", "id"),  # a member's reports
        Index("ix_reports_of_nobody", "settled_at", **only_where("reporter_id IS NULL")),  # those that expire
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(BigId)
    project_title: Mapped[str | None] = mapped_column(String(100))
    reporter_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("users.id", ondelete="RESTRICT"))
    address_key: Mapped[str | None] = mapped_column(String(64))
    kind: Mapped[str] = mapped_column(String(16))
    text: Mapped[str] = mapped_column(String(1000))
    created_at: Mapped[Instant] = mapped_column(default=now)
    outcome: Mapped[str | None] = mapped_column(String(16))
    reply: Mapped[str | None] = mapped_column(String(1000))
    settled_at: Mapped[Instant | None]
