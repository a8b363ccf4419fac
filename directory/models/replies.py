"""Saved replies: what reviewers often write to owners."""

from enum import StrEnum

from sqlalchemy import String, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from directory.extensions import db
from directory.models.base import Id, one_of


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
