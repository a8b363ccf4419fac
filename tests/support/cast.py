"""Who and what the stories are about: people, what they are signed in by, projects, and lines of the audit log."""

from dataclasses import dataclass, field
from datetime import datetime
from math import log10
from typing import Any, NamedTuple


@dataclass
class Person:
    id: int
    username: str
    password: str
    role: str = "member"
    status: str = "active"


@dataclass
class Credential:
    """A cookie or a token, as headers; it goes on being sent when it is dead."""

    person: Person
    kind: str
    id: int
    headers: dict[str, str]
    alive: bool = True
    parent: "Credential | None" = None  # the token that made this token


@dataclass
class Revision:
    """The changes of a live project that wait; or, without any, why the last ones were rejected, and what they were."""

    changes: dict[str, Any]
    submitted_at: str | None = None  # known from the next answer
    reason: str | None = None
    rejected: dict[str, Any] | None = None


@dataclass
class Project:
    id: int
    owner: Person
    fields: dict[str, Any]
    status: str = "pending"
    reason: str | None = None
    version: int = 1
    voters: set[int] = field(default_factory=set)
    upvotes: int = 0  # the voters who are not suspended
    revision: Revision | None = None
    is_with_owner: bool = False  # it was taken down, and waits for its owner
    times: dict[str, str | None] = field(default_factory=dict)
    due: set[str] = field(default_factory=lambda: {"created_at", "submitted_at"})  # times that the next answer renews

    @property
    def key(self) -> str:
        """What of the URL tells it from others."""
        return str(self.fields["url"]).rstrip("/").rpartition("/")[2]

    @property
    def held(self) -> dict[str, Any]:
        """The changes that wait."""
        return self.revision.changes if self.revision else {}

    @property
    def listed(self) -> str:
        return self.times["published_at"] or self.times["created_at"] or ""

    def rank(self, sort: str) -> tuple[Any, ...]:
        """What it is sorted by, largest first."""
        weeks = datetime.fromisoformat(self.listed).timestamp() / (7 * 24 * 3600)
        by = {"newest": self.listed, "upvotes": self.upvotes, "popular": log10(self.upvotes + 1) + weeks}
        return by[sort], self.id


class Entry(NamedTuple):
    """A line of the audit log."""

    action: str
    actor: int
    user: int | None = None
    before: str | None = None
    after: str | None = None
    reason: str | None = None
    changes: dict[str, Any] | None = None
    project: int | None = None
    title: str | None = None
    key: str | None = None
