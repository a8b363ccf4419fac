"""The table of transitions: what an act leads to, by what is under review and where that review is.

`case.move` makes the steps. The database refuses a state of a project without its case (sql/*/reviews.sql).
"""

from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from directory import events
from directory.events import Event
from directory.models import MessageKind, Outcome, Reviewed, Status, Turn
from directory.services import service_words


class Act(StrEnum):
    """What moves a case. The first four are decisions, by the words of the routes."""

    APPROVE = "approve"
    REJECT = "reject"
    UNPUBLISH = "unpublish"
    REQUEST = "request_changes"
    RESUBMIT = "resubmit"
    HOLD = "hold"
    RELEASE = "release"
    RETURN = "return"
    APPEAL = "appeal"
    UPHOLD = "upheld"
    REVERSE = "reversed"
    WITHDRAW = "withdraw"


class Stage(StrEnum):
    """Where the review of a project is, as far as it determines what can follow."""

    NONE = "none"  # nothing of a live project is under review
    QUEUED = "queued"
    HELD = "held"
    ASKED = "asked"  # the owner is asked for changes
    DOWN = "down"  # the owner has a project that was taken down
    DOWN_APPEALED = "down_appealed"
    REJECTED = "rejected"
    APPEALED = "appealed"  # against a rejection


class Step(NamedTuple):
    """What an act leads to: whose turn it is, the state of the project, and how the case ended, if it did.

    `event` is that of the log and of webhooks; `ends` what the thread says if it ends an open appeal. The version of
    the project is raised, which voids approvals and claims, unless the step keeps it or its caller has raised it.
    """

    turn: Turn | None
    status: Status
    outcome: Outcome | None
    event: Event | None
    ends: str | None = None
    raises_version: bool = True


class Overtaking(StrEnum):
    """What ends an appeal without an outcome, as the thread says it."""

    DECISION = service_words.BY_DECISION
    EDIT = service_words.BY_EDIT
    WITHDRAWAL = service_words.BY_WITHDRAWAL


_S, _C = Reviewed.SUBMISSION, Reviewed.CHANGES
_LIVE, _PENDING, _REFUSED = Status.LIVE, Status.PENDING, Status.REJECTED
_QUEUED, _HELD, _ASKED, _DOWN = Stage.QUEUED, Stage.HELD, Stage.ASKED, Stage.DOWN
_REJECTED, _APPEALED, _DOWN_APPEALED = Stage.REJECTED, Stage.APPEALED, Stage.DOWN_APPEALED
_OPEN = (_QUEUED, _HELD, _ASKED, _DOWN, _DOWN_APPEALED)
_BY_DECISION, _BY_EDIT, _BY_WITHDRAWAL = Overtaking
# What a case is about, where it is, and what is done; then whose turn it is, the project's state and the outcome.
_ROWS: tuple[tuple[Reviewed, Collection[Stage], Act, Step], ...] = (
    (_S, _OPEN, Act.APPROVE, Step(None, _LIVE, Outcome.APPROVED, events.PROJECT_APPROVED, _BY_DECISION)),
    (_C, _OPEN, Act.APPROVE, Step(None, _LIVE, Outcome.APPROVED, events.PROJECT_EDIT_APPROVED, _BY_DECISION, False)),
    (_S, _OPEN, Act.REJECT, Step(None, _REFUSED, Outcome.REJECTED, events.PROJECT_REJECTED, _BY_DECISION)),
    (_C, _OPEN, Act.REJECT, Step(None, _LIVE, Outcome.REJECTED, events.PROJECT_EDIT_REJECTED, _BY_DECISION)),
    (_S, (Stage.NONE,), Act.UNPUBLISH, Step(Turn.OWNER, _PENDING, None, events.PROJECT_UNPUBLISHED)),
    (_C, tuple(Stage), Act.UNPUBLISH, Step(Turn.OWNER, _PENDING, None, events.PROJECT_UNPUBLISHED, _BY_DECISION)),
    (_S, _OPEN, Act.REQUEST, Step(Turn.OWNER, _PENDING, None, events.PROJECT_CHANGES_REQUESTED, _BY_DECISION)),
    (_C, _OPEN, Act.REQUEST, Step(Turn.OWNER, _LIVE, None, events.PROJECT_CHANGES_REQUESTED, _BY_DECISION)),
    (_S, (_ASKED, _DOWN, _DOWN_APPEALED, _REJECTED, _APPEALED), Act.RESUBMIT,
     Step(Turn.REVIEWERS, _PENDING, None, events.PROJECT_RESUBMITTED, _BY_EDIT)),
    (_C, (_ASKED,), Act.RESUBMIT, Step(Turn.REVIEWERS, _LIVE, None, events.PROJECT_RESUBMITTED, _BY_EDIT)),
    (_S, (_QUEUED,), Act.HOLD, Step(Turn.RULE, _PENDING, None, None, None, False)),
    (_C, (_QUEUED,), Act.HOLD, Step(Turn.RULE, _LIVE, None, None, None, False)),
    (_S, (_HELD,), Act.RELEASE, Step(Turn.REVIEWERS, _PENDING, None, events.PROJECT_RELEASED, None, False)),
    (_C, (_HELD,), Act.RELEASE, Step(Turn.REVIEWERS, _LIVE, None, events.PROJECT_RELEASED, None, False)),
    (_S, (_HELD,), Act.RETURN, Step(Turn.REVIEWERS, _PENDING, None, events.PROJECT_RETURNED, None, False)),
    (_C, (_HELD,), Act.RETURN, Step(Turn.REVIEWERS, _LIVE, None, events.PROJECT_RETURNED, None, False)),
    (_S, (_REJECTED, _APPEALED), Act.RETURN,
     Step(Turn.REVIEWERS, _PENDING, None, events.PROJECT_RETURNED, _BY_DECISION)),
    (_C, (_REJECTED, _APPEALED), Act.RETURN,
     Step(Turn.REVIEWERS, _LIVE, None, events.PROJECT_RETURNED, _BY_DECISION)),
    (_S, (_REJECTED,), Act.APPEAL, Step(Turn.APPEAL, _REFUSED, Outcome.REJECTED, events.PROJECT_APPEALED)),
    (_S, (_DOWN,), Act.APPEAL, Step(Turn.APPEAL, _PENDING, None, events.PROJECT_APPEALED)),
    (_C, (_REJECTED,), Act.APPEAL, Step(Turn.APPEAL, _LIVE, Outcome.REJECTED, events.PROJECT_APPEALED)),
    (_S, (_APPEALED,), Act.UPHOLD, Step(None, _REFUSED, Outcome.REJECTED, events.PROJECT_APPEAL_UPHELD)),
    (_S, (_DOWN_APPEALED,), Act.UPHOLD, Step(Turn.OWNER, _PENDING, None, events.PROJECT_APPEAL_UPHELD)),
    (_C, (_APPEALED,), Act.UPHOLD, Step(None, _LIVE, Outcome.REJECTED, events.PROJECT_APPEAL_UPHELD)),
    (_S, (_APPEALED,), Act.REVERSE, Step(Turn.REVIEWERS, _PENDING, None, events.PROJECT_APPEAL_REVERSED)),
    (_S, (_DOWN_APPEALED,), Act.REVERSE, Step(None, _LIVE, Outcome.REVERSED, events.PROJECT_APPEAL_REVERSED)),
    (_C, (_APPEALED,), Act.REVERSE, Step(Turn.REVIEWERS, _LIVE, None, events.PROJECT_APPEAL_REVERSED)),
    (_C, tuple(Stage), Act.WITHDRAW,
     Step(None, _LIVE, Outcome.WITHDRAWN, events.PROJECT_EDIT_WITHDRAWN, _BY_WITHDRAWAL)),
)  # fmt: skip
STEPS = {(kind, stage, act): step for kind, stages, act, step in _ROWS for stage in stages}
# The entries in the threads, and the acts of which webhooks and owners hear by `move`.
ENTRIES = {
    Act.APPROVE: MessageKind.APPROVED, Act.REJECT: MessageKind.REJECTED, Act.UNPUBLISH: MessageKind.UNPUBLISHED,
    Act.REQUEST: MessageKind.CHANGES_REQUESTED, Act.RETURN: MessageKind.MESSAGE,
}  # fmt: skip
