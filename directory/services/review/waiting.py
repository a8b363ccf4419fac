"""What waits for its owner: projects that were taken down, and submissions and revisions for which changes were asked.

A project and its revision have the same columns for it. `owner_since` is when it began, `closes_at` when it is rejected
if the owner does not answer, `change_requests` how often changes were asked for since the last approval or rejection.
The time of a review is measured from `measured_from`, or from `submitted_at` where that is null, so that it leaves out
the time with the owner.
"""

from datetime import datetime, timedelta
from typing import Any

from directory.models import Project, Revision
from directory.services import service_words, turns
from directory.services.turns import Turn

PATIENCE = 3  # so many requests of one submission leave it its place in the queue
# The columns after a decision.
ENDED = {"owner_since": None, "closes_at": None, "change_requests": 0, "held_until": None, "measured_from": None}


def closing(at: datetime, answer_within: timedelta | None) -> datetime | None:
    """When it closes if it waits for its owner from `at` on; None if it never does."""
    return None if answer_within is None else at + answer_within


def within(days: int) -> timedelta | None:
    """How long owners have to answer, by CHANGES_DAYS; None for ever."""
    return timedelta(days=days) if days else None


def reason_of(owner_since: datetime, closes_at: datetime) -> str:
    """The reason of a rejection of what was not answered in time."""
    return str.__str__(service_words.time_passed((closes_at - owner_since).days))


def on_owner(project: Project, revision: Revision | None) -> Project | Revision | None:
    """What waits for the owner: the project, its revision, or nothing."""
    found = turns.of_locked(project, revision)
    if found.turn is not Turn.OWNER:
        return None
    return revision if found.of_changes else project


def give_back(given: Project | Revision, at: datetime) -> None:
    """Give it back to the reviewers, at its old place; from the fourth request on at the end of the queue."""
    leave_out(given, at)
    given.owner_since = given.closes_at = None
    if given.change_requests > PATIENCE:
        given.submitted_at, given.measured_from = at, None


def leave_out(waits: Project | Revision, at: datetime) -> None:
    """Leave the time that it has waited for its owner out of the time of its review."""
    began = waits.measured_from or waits.submitted_at
    assert began is not None  # noqa: S101 (what waits for its owner was submitted)
    assert waits.owner_since is not None  # noqa: S101
    waits.measured_from = began + (at - waits.owner_since)


def seconds(waits: Any, at: datetime) -> float | None:
    """How long a project or a revision has waited for review; None if it waits for its owner, or is held."""
    if waits.owner_since is not None or waits.held_until is not None:
        return None
    waited: timedelta = at - (waits.measured_from or waits.submitted_at)
    return waited.total_seconds()
