"""What was seen of the links of projects, when they are looked at next, and the hosts that are asked."""

from enum import StrEnum
from typing import Any

from sqlalchemy import Index, String, false
from sqlalchemy.orm import Mapped, mapped_column

from directory.extensions import db
from directory.models.base import BigId, Instant, JsonObject, one_of, only_where
from directory.models.projects import OfProject


class LinkState(StrEnum):
    """What a look at a link found."""

    OK = "ok"
    MOVED = "moved"
    GONE = "gone"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"


class LinkCheck(db.Model):  # type: ignore[name-defined,misc]
    """When the links of a project are looked at next, and what was seen of each (`extras/links/states.py`).

    `is_dead` and `has_moved` are true of a project with such a link. Who looks holds a lease.
    """

    __tablename__ = "link_checks"
    __table_args__ = (
        Index(None, "due_at"),  # what is due
        # The projects with a dead link, and with one that moved.
        Index("ix_link_checks_is_dead", "project_id", **only_where("is_dead", "is_dead = 1")),
        Index("ix_link_checks_has_moved", "project_id", **only_where("has_moved", "has_moved = 1")),
    )

    project_id: Mapped[OfProject]
    due_at: Mapped[Instant]
    leased_until: Mapped[Instant | None]
    lease_token: Mapped[str | None] = mapped_column(String(32))
    looks: Mapped[dict[str, Any] | None] = mapped_column(JsonObject)
    is_dead: Mapped[bool] = mapped_column(default=False, server_default=false())
    has_moved: Mapped[bool] = mapped_column(default=False, server_default=false())


class LinkHost(db.Model):  # type: ignore[name-defined,misc]
    """A host, by name and port, that was asked lately: when it may be asked next, and whether somebody asks it now."""

    __tablename__ = "link_hosts"
    __table_args__ = (Index(None, "next_at"),)  # those that may be forgotten

    host: Mapped[str] = mapped_column(String(300), primary_key=True)
    next_at: Mapped[Instant]
    leased_until: Mapped[Instant | None]
    lease_token: Mapped[str | None] = mapped_column(String(32))


class LinkCount(db.Model):  # type: ignore[name-defined,misc]
    """How many looks at links found a state."""

    __tablename__ = "link_counts"
    __table_args__ = (one_of("state", LinkState),)

    state: Mapped[str] = mapped_column(String(16), primary_key=True)
    number: Mapped[int] = mapped_column(BigId)
