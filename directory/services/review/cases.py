"""What a decision is about: a project and its revision, locked, and whether the decision applies to them."""

from collections.abc import Container, Iterable
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import select

from directory.errors import DirectoryError, InvalidTransition, PreconditionFailed
from directory.extensions import db
from directory.models import Project, Revision, Status, now
from directory.services import turns
from directory.services.review import revisions, thread
from directory.services.turns import Asked, Standing, Turn

REQUEST = "request_changes"
PAST = {"approve": "approved", "reject": "rejected", "unpublish": "unpublished", REQUEST: "changes_requested"}
# States of a live project with a revision: its changes are pending, or were rejected.
WAITING, REFUSED = "changes_waiting", "changes_refused"
MOVES: dict[str, set[str]] = {
    "approve": {Status.PENDING},
    "reject": {Status.PENDING},
    "unpublish": {Status.LIVE, WAITING, REFUSED},
    REQUEST: {Status.PENDING, WAITING},
}
# The states of a project for which the decision was already made.
ALREADY: dict[str, set[str]] = {"approve": {Status.LIVE}, "reject": {Status.REJECTED, REFUSED}}


@dataclass(frozen=True, slots=True)
class Case:
    """A locked project and its revision, and the message by which changes of it were asked for, while it waits."""

    project: Any
    revision: Revision | None
    asked: str | None = None

    @property
    def state(self) -> str:
        """The project's state, or that of its revision."""
        if self.revision is None:
            return str(self.project.status)
        return REFUSED if self.revision.submitted_at is None else WAITING

    @property
    def id(self) -> int:
        """The project's id."""
        return int(self.project.id)

    @property
    def standing(self) -> Standing:
        """Whose turn it is."""
        return turns.of_locked(self.project, self.revision)

    @property
    def is_closed(self) -> bool:
        """Whether it waits for its owner, and the time for an answer is over."""
        until = self.standing.until
        return until is not None and until <= now()

    @property
    def is_held(self) -> bool:
        """Whether a rule holds it out of the queue."""
        return self.standing.turn is Turn.RULE

    def is_decided(self, decision: str, reason: str | None) -> bool:
        """Whether the decision was already made: of requests for changes the same one."""
        return self.asked == reason if decision == REQUEST else self.state in ALREADY.get(decision, ())

    def settles(self, decision: str) -> bool:
        """Whether the decision is about the changes that wait."""
        return self.state == WAITING and decision in {"approve", "reject"}

    def refusal(self, decision: str, versions: Container[int] | None, reason: str | None) -> DirectoryError | None:
        """Why the decision is refused; None if it can be made, or was already made."""
        # A caller whose answer was lost may retry, as RFC 9110 section 13.1.1 allows.
        if self.is_decided(decision, reason):
            return None
        if versions is not None and self.project.version not in versions:
            return PreconditionFailed()
        if self.asked is None and (decision == "delete" or self.settles(decision) or self.state in MOVES[decision]):
            return None
        return InvalidTransition(self.project.status, "asked to be changed" if decision == REQUEST else PAST[decision])


def locked(project_ids: Iterable[int]) -> list[Case]:
    """The projects that exist, locked in the order of their ids, with their revisions."""
    columns = (Project.id, Project.owner_id, Project.url_key, Project.title, Project.status, Project.version)
    query = select(*columns, Project.category_id, Project.submitted_at, Project.upvotes)
    query = query.add_columns(Project.published_at, Project.owner_since, Project.closes_at, Project.held_until)
    query = query.add_columns(Project.appealed_at, Project.measured_from, Project.change_requests)
    query = query.where(Project.id.in_(list(project_ids))).order_by(Project.id)
    projects = list(db.session.execute(query.with_for_update(key_share=True)))
    live = [project.id for project in projects if project.status == Status.LIVE]
    # In a separate statement: a join would read the revision as it was before the wait for the lock.
    held = revisions.of_each(live) if live else {}
    return [Case(project, held.get(project.id)) for project in projects]


def with_requests(cases: list[Case]) -> list[Case]:
    """The cases with the messages by which changes of them were asked for, while they wait for their owners."""
    found = {case.id: case.standing for case in cases}
    asked = thread.requests({each: it.since for each, it in found.items() if it.since and it.asked is Asked.CHANGES})
    return [replace(case, asked=asked.get(case.id)) for case in cases]
