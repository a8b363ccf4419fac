"""The transaction of a registration, which a rule may refuse."""

from collections.abc import Callable
from typing import TypeVar

from directory.db.transactions import transaction
from directory.errors import RegistrationRefused
from directory.services.rules import judging

T = TypeVar("T")


def registering(work: Callable[[], T]) -> T:
    """Run `work` in a transaction. What a rule refuses is counted for the rule in another one, and raised again."""
    try:
        return transaction(work)
    except RegistrationRefused as refused:
        judgement = refused.judgement
        transaction(lambda: judging.count(judgement))
        raise
