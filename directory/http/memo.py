"""Values that are expensive to compute, and stored by the application's memo where it has one."""

from collections.abc import Callable, Hashable
from typing import Protocol

from flask import current_app


class Memo(Protocol):
    """Stores values for as long as nothing is written to the database."""

    def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """The value stored under `key` if it is still valid, else a new one."""


def remembered(key: Hashable, compute: Callable[[], bytes]) -> bytes:
    """The value that the memo has under `key`; without a memo it is computed for each call."""
    memo: Memo | None = current_app.extensions.get("memo")
    return compute() if memo is None else memo.get(key, compute)
