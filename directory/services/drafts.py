"""What members submit, edit and register, for an extra that judges it (`Extra.on_submit`), and what that makes of it.

It judges in the transaction of the change. Without such an extra nothing is judged, and no fact is stored.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, ClassVar

from sqlalchemy import delete

from directory.extensions import modify
from directory.models import Effect, Judged, RuleFacts
from directory.services.clock import database_clock
from directory.services.deleting import oldest_expired


@dataclass(frozen=True, slots=True)
class Draft:
    """A project as a member submits it, or as an edit leaves what then waits for review.

    `after` has its fields and the keys that are made of them (`fields.columns`), each once: what is stored and indexed
    is what is judged. `of_changes` is true of the changes of a live project. `seen` are the columns of a
    pending project that have just got what was seen of its links: then it is judged once more, for that alone.
    """

    kind: Judged
    after: Any
    at: datetime
    of_changes: bool = False
    seen: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Registration:
    """An account that is about to be opened, and whether its address is confirmed already."""

    kind: ClassVar = Judged.REGISTRATION
    seen: ClassVar[frozenset[str]] = frozenset()
    email: str
    is_confirmed: bool
    at: datetime


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a draft: it is held, or rejected with a reason, by a rule; or neither, which MARK stands for.

    `record` stores how it was judged, with the facts if it gets the account; a registration that is refused has none.
    """

    record: Callable[[int | None], None]
    effect: Effect = Effect.MARK
    reason: str | None = None
    rule_id: int | None = None


Judge = Callable[[Draft | Registration], Verdict]


def forget_facts(account_id: int) -> None:
    """Delete the facts by which an account was judged."""
    modify(delete(RuleFacts).where(RuleFacts.account_id == account_id))


def purge_facts(days: int, most: int, *, guarded: bool = True) -> int:
    """Delete at most `most` facts older than so many days, and return the number. The oldest have the lowest ids.

    Raises MostWouldGo.
    """
    ids = oldest_expired(RuleFacts, database_clock() - timedelta(days=days), most, guarded=guarded)
    return modify(delete(RuleFacts).where(RuleFacts.id.in_(ids))) if ids else 0
