"""Rules that judge submissions, edits and registrations; the facts that they judged by; and what they did."""

from datetime import date
from enum import StrEnum
from typing import Any

from sqlalchemy import CheckConstraint, Date, ForeignKey, Index, LargeBinary, String, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from directory.db.clock import now
from directory.extensions import db
from directory.models.base import BigId, Id, Instant, JsonList, JsonObject, one_of


class Judged(StrEnum):
    """What a rule judges."""

    SUBMISSION = "submission"
    EDIT = "edit"
    REGISTRATION = "registration"


class Effect(StrEnum):
    """What a rule does with what it matches, the weakest first."""

    MARK = "mark"
    HOLD = "hold"
    REJECT = "reject"


class RuleState(StrEnum):
    """Whether a rule does nothing, only counts what it would do, or acts."""

    OFF = "off"
    DRY = "dry"
    ON = "on"


class SpamRule(db.Model):  # type: ignore[name-defined,misc]
    """A rule. `judges` has words of Judged, `conditions` the conditions that all must hold, as callers write them.

    `version` grows with each change, so that processes notice one (extras/spam_rules/judging.py).
    """

    __tablename__ = "rules"
    __table_args__ = (
        one_of("effect", Effect),
        one_of("state", RuleState),
        CheckConstraint("(effect = 'reject') = (reason IS NOT NULL)", name="reason"),
        UniqueConstraint("name"),
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(String(60))
    judges: Mapped[list[str]] = mapped_column(JsonList)
    conditions: Mapped[list[dict[str, Any]]] = mapped_column(JsonObject, nullable=False)
    effect: Mapped[str] = mapped_column(String(16))
    reason: Mapped[str | None] = mapped_column(String(1000))
    state: Mapped[str] = mapped_column(String(16), default=RuleState.OFF)
    version: Mapped[int] = mapped_column(BigId, default=1)
    changed_at: Mapped[Instant] = mapped_column(default=now)


class RulePreview(db.Model):  # type: ignore[name-defined,misc]
    """That conditions were previewed, and when last. `digest` is of what they judge and of the conditions."""

    __tablename__ = "rule_previews"
    __table_args__ = (Index(None, "at"),)  # those that are too old

    digest: Mapped[str] = mapped_column(String(64), primary_key=True)
    at: Mapped[Instant]


class RuleDay(db.Model):  # type: ignore[name-defined,misc]
    """How many a rule matched on a UTC day, while it was dry or on."""

    __tablename__ = "rule_days"

    rule_id: Mapped[int] = mapped_column(
        BigId, ForeignKey("rules.id", ondelete="CASCADE"), primary_key=True, autoincrement=False
    )
    day: Mapped[date] = mapped_column(Date, primary_key=True)
    matched: Mapped[int] = mapped_column(BigId)


class RuleFacts(db.Model):  # type: ignore[name-defined,misc]
    """The facts of a submission, edit or registration by a member, as they were when it was judged.

    Of a project's edits only the last one has some.

    `facts` has numbers, truths and the mail domain. Texts are stored as digests alone: the website's domain in `facts`,
    and the words, five bytes each, in `words`. `project_id` is not a foreign key: the facts outlive the project, and
    go with the account.
    """

    __tablename__ = "rule_facts"
    __table_args__ = (
        one_of("kind", Judged),
        Index(None, "kind", "at"),  # a preview
        Index(None, "account_id", "at"),  # what an account has submitted; when the account goes
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    kind: Mapped[str] = mapped_column(String(16))
    at: Mapped[Instant]
    project_id: Mapped[int | None] = mapped_column(BigId)
    account_id: Mapped[int] = mapped_column(BigId, ForeignKey("users.id", ondelete="RESTRICT"))
    facts: Mapped[dict[str, Any]] = mapped_column(JsonObject, nullable=False)
    words: Mapped[bytes] = mapped_column(LargeBinary)


class RuleAction(db.Model):  # type: ignore[name-defined,misc]
    """That a rule that was on matched a project or its revision, with the rule's name and effect at that time.

    If the effect of one of the rules that matched at once is that the project is held or rejected, it has `acted`.
    `version` is that of the project after it. A project's rows that did not act go when it is judged again.
    """

    __tablename__ = "rule_actions"
    __table_args__ = (
        one_of("effect", Effect),
        Index(None, "project_id"),  # the marks of a project; when it goes
        Index(None, "rule_id", "at"),  # what a rule did since
        {"sqlite_autoincrement": True},
    )

    id: Mapped[Id]
    rule_id: Mapped[int] = mapped_column(BigId)
    rule_name: Mapped[str] = mapped_column(String(60))
    project_id: Mapped[int] = mapped_column(BigId, ForeignKey("projects.id", ondelete="CASCADE"))
    of_revision: Mapped[bool]
    effect: Mapped[str] = mapped_column(String(16))
    acted: Mapped[bool]
    version: Mapped[int] = mapped_column(BigId)
    at: Mapped[Instant]
