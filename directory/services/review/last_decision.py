"""The last rejection or unpublishing of a project: who made it and when, kept with the project, and the open appeal.

`decided_at` is the time of a decision that its owner may still appeal against, `decided_by` who made it: nobody, if the
service did. `appealed_at` is the time of the open appeal. A later decision, and an edit, a withdrawal or a message by
which the owner goes on, overtake the decision. If an appeal is open then, it ends without an outcome.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from directory.models import Project
from directory.services import service_words
from directory.services.identity import Caller
from directory.services.review import thread
from directory.services.turns import Asked, Outcome, Standing

APPEAL_WITHIN = timedelta(days=180)
OVERTAKEN: dict[str, Any] = {"decided_at": None, "decided_by": None, "appealed_at": None}


class Overtaking(StrEnum):
    """What ends an appeal without an outcome, as the thread says it."""

    DECISION = service_words.BY_DECISION
    EDIT = service_words.BY_EDIT
    WITHDRAWAL = service_words.BY_WITHDRAWAL


def made(by: Caller | None, at: datetime) -> dict[str, Any]:
    """The columns of a project after a rejection or an unpublishing; `by` is None if nobody has decided."""
    return {"decided_at": at, "decided_by": by.id if by else None, "appealed_at": None}


def may_be_appealed(decided_at: datetime | None, found: Standing, at: datetime) -> bool:
    """Whether the owner may appeal: once, in time, and while nothing has overtaken the decision."""
    if decided_at is None or decided_at <= at - APPEAL_WITHIN:
        return False
    return found.outcome is Outcome.REJECTED or found.asked is Asked.UNPUBLISHED


def overtake(project: Project, why: Overtaking, *, by: Caller, at: datetime) -> None:
    """Note that a change of a locked project has overtaken the last decision, and end an open appeal."""
    end_appeals([project], why, by=by, at=at)
    for name, value in OVERTAKEN.items():
        setattr(project, name, value)


def end_appeals(projects: Iterable[Any], why: Overtaking, *, by: Caller | None, at: datetime) -> None:
    """Write into the threads of those projects whose appeal is open that it ends without an outcome.

    The calling function has locked the projects, and changes their columns.
    """
    appealed = [project for project in projects if project.appealed_at is not None]
    if appealed:
        thread.record_of_service(appealed, why, by=by, at=at)
