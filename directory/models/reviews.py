"""The work of those who review: approvals where several are required, and who looks at a project."""

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from directory.extensions import db
from directory.models.base import BigId, Instant
from directory.models.projects import OfProject


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
