"""What waits for its owner: projects that were taken down, and submissions and revisions for which changes were asked.

A project and its revision have the same columns for it. `owner_since` is when it began, `closes_at` when it is rejected
if the owner does not answer, `change_requests` how often changes were asked for since the last approval or rejection.
"""

from datetime import datetime, timedelta

from directory.models import Project, Revision, Status

PATIENCE = 3  # requests of one submission after which it keeps its place in the queue # The columns after a decision.
ENDED = {"owner_since": None, "closes_at": None, "change_requests": 0, "held_until": None}


def closing(at: datetime, answer_within: timedelta | None) -> datetime | None:
    """When it closes if it waits for its owner from `at` on; None if it never does."""
    return None if answer_within is None else at + answer_within


def within(days: int) -> timedelta | None:
    """How long owners have to answer, by CHANGES_DAYS; None for ever."""
    return timedelta(days=days) if days else None


def reason_of(owner_since: datetime, closes_at: datetime) -> str:
    """The reason of a rejection of what was not answered in time."""
    return f"No answer within {(closes_at - owner_since).days} days."


def on_owner(project: Project, revision: Revision | None) -> Project | Revision | None:
    """What waits for the owner: the project, its revision, or nothing."""
    if project.status == Status.PENDING and project.owner_since is not None and project.appealed_at is None:
        return project
    if revision is not None and revision.submitted_at is not None and revision.owner_since is not None:
        return revision
    return None


def give_back(given: Project | Revision, at: datetime) -> None:
    """Give it back to the reviewers, at its old place; from the fourth request on at the end of the queue."""
    given.owner_since = given.closes_at = None
    if given.change_requests > PATIENCE:
        given.submitted_at = at
