"""The threads: what the owner of a project and its reviewers write to each other; and what reviewers often write."""

from enum import StrEnum

from sqlalchemy import ForeignKey, Index, String, Text, UniqueConstraint, false
from sqlalchemy.orm import Mapped, mapped_column

from directory.db.clock import now
from directory.extensions import db
from directory.models.base import BigId, Id, Instant, one_of, only_where


class Sender(StrEnum):
    """The side that an entry of a thread is from."""

    OWNER = "owner"
    REVIEWERS = "reviewers"
    SERVICE = "service"


class MessageKind(StrEnum):
    """The kinds of entries. Owners never see a note."""

    MESSAGE = "message"
    NOTE = "note"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"
    REJECTED = "rejected"
    UNPUBLISHED = "unpublished"
    APPEAL = "appeal"
    APPEAL_UPHELD = "appeal_upheld"
    APPEAL_REVERSED = "appeal_reversed"


class Message(db.Model):  # type: ignore[name-defined,misc]
    """An entry of a project's thread. It goes with the project.

    The text of an entry without words, or of one that was erased, is empty. `unread_by` is the owner of the project as
    long as the owner has not read the entry; of a note, and of the owner's own entry, it is null. A trigger keeps
    `is_unanswered`: the entry is the owner's, and the last one of its thread, notes aside.
    """

    __tablename__ = "messages"
    __table_args__ = (
        one_of("sender", Sender),
        one_of("kind", MessageKind),
        Index(None, "project_id", "id"),  # a thread
        Index(None, "author_id"),  # what a user has written, when the account goes
        Index("ix_messages_unread", "unread_by", **only_where("unread_by IS NOT NULL")),  # what an owner has not read
        Index("ix_messages_unanswered", "project_id", **only_where("is_unanswered", "is_unanswered = 1")),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    project_id: Mapped[int] = mapped_column(BigId, ForeignKey("projects.id", ondelete="CASCADE"))
    at: Mapped[Instant] = mapped_column(default=now)
    sender: Mapped[str] = mapped_column(String(16))
    kind: Mapped[str] = mapped_column(String(20))
    text: Mapped[str] = mapped_column(Text, default="")
    author_id: Mapped[int | None] = mapped_column(BigId, ForeignKey("users.id", ondelete="RESTRICT"))
    unread_by: Mapped[int | None] = mapped_column(BigId)
    is_unanswered: Mapped[bool] = mapped_column(default=False, server_default=false())


class ReplyDecision(StrEnum):
    """The decisions that have a reply to the owner."""

    REJECT = "reject"
    REQUEST_CHANGES = "request_changes"
    UNPUBLISH = "unpublish"


class SavedReply(db.Model):  # type: ignore[name-defined,misc]
    """A text that reviewers choose for a decision. The console fills in its `{title}`, `{owner}` and `{site}`."""

    __tablename__ = "saved_replies"
    __table_args__ = (UniqueConstraint("name"), one_of("decision", ReplyDecision), {"sqlite_autoincrement": True})

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(String(60))
    decision: Mapped[str] = mapped_column(String(16))
    text: Mapped[str] = mapped_column(Text)
