"""The review: what is or was under review, approvals where several are required, and who looks at a project."""

from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, ForeignKey, Index, Integer, String, text, true
from sqlalchemy.orm import Mapped, mapped_column

from directory.extensions import db
from directory.models.base import BigId, Id, Instant, JsonObject, LogoAddresses, one_of, only_where
from directory.models.projects import WITH_LOGO, OfProject


class Reviewed(StrEnum):
    """What a case is about: a submission, or the changes of a live project."""

    SUBMISSION = "submission"
    CHANGES = "changes"


class Turn(StrEnum):
    """Who or what has the next move."""

    REVIEWERS = "reviewers"
    RULE = "rule"
    OWNER = "owner"
    APPEAL = "appeal"


class Asked(StrEnum):
    """How it came to wait for its owner."""

    CHANGES = "changes_requested"
    UNPUBLISHED = "unpublished"


class Outcome(StrEnum):
    """How a review ended: a rejection was made by a person, by a rule, or because the time for an answer passed."""

    APPROVED = "approved"
    REJECTED = "rejected"
    BY_RULE = "rejected_by_rule"
    BY_TIME = "rejected_by_time"
    WITHDRAWN = "withdrawn"  # by the owner
    UNPUBLISHED = "unpublished"  # the project was taken down while its changes waited
    REVERSED = "reversed"  # an appeal against an unpublishing was


REJECTIONS = frozenset({Outcome.REJECTED, Outcome.BY_RULE, Outcome.BY_TIME})
QUEUED = "turn = 'reviewers'"


class Review(db.Model):  # type: ignore[name-defined,misc]
    """A case: a submission, or the changes of a live project, and whose turn it is; null once it is closed.

    Of a project one case `is_current`: the open one, or what was rejected and not taken up again. The others are past:
    when and how they ended, without texts, which the thread and the log have. A pending project has an open submission,
    a rejected one a rejected submission, about which an appeal may be open, a live one no submission. Triggers add the
    case of a pending project that is added, refuse a status without its case, and keep `category_id` and
    `picture_uses`; all other writes are those of services/review/case.py.

    The turn began at `since`. `until` is the end of a hold, or of the owner's time for an answer; `reminded_at` is when
    the owner was last told by a second mail. `place` is its time in the queue. `asked` is how it came to wait for its
    owner, `requests` how often changes were asked for. The time of the review is measured from `measured_from`, or from
    `place` where that is null, so that it leaves out the time with the owner.

    `changes` has the new values by field, as callers write them, also of a rejection. The new category of changes that
    are not decided is in `category`, because it may be renamed meanwhile, and must not be deleted. `logo` is the one in
    the changes, so that it is kept. `category_id` is that of the project. `decided_at` and `decided_by` are those of
    the outcome or the unpublishing; `decided_at` of a current case is null if its owner cannot appeal. `decided_by` is
    not a foreign key: accounts are never removed, and are locked before projects.
    """

    __tablename__ = "reviews"
    __table_args__ = (
        one_of("kind", Reviewed),
        one_of("turn", Turn),
        one_of("asked", Asked),
        one_of("outcome", Outcome),
        CheckConstraint("turn IS NOT NULL OR outcome IS NOT NULL", name="open_or_closed"),
        CheckConstraint("is_current OR turn IS NULL", name="current"),
        CheckConstraint("is_current OR (changes IS NULL AND logo IS NULL AND reason IS NULL)", name="past"),
        CheckConstraint("outcome IS NULL OR category IS NULL", name="category"),
        CheckConstraint("NOT is_current OR (kind = 'changes') = (changes IS NOT NULL)", name="changes"),
        # One current case a project, with which answers join it.
        Index("uq_reviews_current", "project_id", unique=True, **only_where("is_current", "is_current = 1")),
        Index(None, "project_id"),  # when the project goes
        Index("ix_reviews_queue", "place", "project_id", **only_where(QUEUED)),
        Index("ix_reviews_queue_of_category", "category_id", "place", "project_id", **only_where(QUEUED)),
        # What waits elsewhere, and changes: with them the counters of the categories have the length of the queue.
        Index("ix_reviews_elsewhere", "turn", "category_id", **only_where("turn <> 'reviewers'")),
        Index("ix_reviews_changes", "category_id", **only_where(f"{QUEUED} AND kind = 'changes'")),
        Index("ix_reviews_until", "until", **only_where("until IS NOT NULL")),  # what ends by itself
        Index(None, "category", **only_where("category IS NOT NULL")),  # a category that is renamed or deleted
        Index(None, "logo", **WITH_LOGO),  # whether a logo is used
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(BigId, ForeignKey("projects.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(16))
    turn: Mapped[str | None] = mapped_column(String(16))
    is_current: Mapped[bool] = mapped_column(default=True, server_default=true())
    since: Mapped[Instant]
    until: Mapped[Instant | None]
    reminded_at: Mapped[Instant | None]
    place: Mapped[Instant]
    asked: Mapped[str | None] = mapped_column(String(20))
    requests: Mapped[int] = mapped_column(Integer, default=0, server_default=text("0"))
    measured_from: Mapped[Instant | None]
    changes: Mapped[dict[str, Any] | None] = mapped_column(JsonObject)
    category: Mapped[str | None] = mapped_column(
        String(50), ForeignKey("categories.slug", onupdate="CASCADE", ondelete="RESTRICT")
    )
    logo: Mapped[dict[str, str] | None] = mapped_column(LogoAddresses(), ForeignKey("logos.digest"))
    category_id: Mapped[int] = mapped_column(BigId)
    outcome: Mapped[str | None] = mapped_column(String(20))
    reason: Mapped[str | None] = mapped_column(String(1000))
    decided_at: Mapped[Instant | None]
    decided_by: Mapped[int | None] = mapped_column(BigId)


class Approval(db.Model):  # type: ignore[name-defined,misc]
    """A person's approval of a version of a project, where more than one is required.

    It counts while the project has that version. A trigger on `users` deletes the approvals of a person who may no
    longer review the project.
    """

    __tablename__ = "approvals"
    __table_args__ = (Index(None, "user_id"),)  # when a person may no longer review

    project_id: Mapped[OfProject]
    user_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("users.id", ondelete="RESTRICT"), primary_key=True, autoincrement=False
    )
    version: Mapped[int] = mapped_column(BigId)
    at: Mapped[Instant]


class ReviewClaim(db.Model):  # type: ignore[name-defined,misc]
    """A note that a person looks at a project, for the others who review.

    It holds until `until`, and while the project has the version. A trigger on `users` deletes the claims of a person
    who may no longer review the project.
    """

    __tablename__ = "review_claims"
    __table_args__ = (
        Index(None, "user_id"),  # a person's claims; when the person may no longer review
        Index(None, "until"),  # those that have expired
    )

    project_id: Mapped[OfProject]
    user_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="RESTRICT"))
    version: Mapped[int] = mapped_column(BigId)
    until: Mapped[Instant]
