"""Stores values that are expensive to compute, in the application's memo if it has one."""

from collections.abc import Callable, Hashable
from typing import Protocol

from flask import current_app


class Memo(Protocol):
    """Stores values until something is written to the database."""

    def get(self, key: Hashable, compute: Callable[[], bytes]) -> bytes:
        """The value stored under `key` if it is still valid, otherwise a new one."""


def remembered(key: Hashable, compute: Callable[[], bytes]) -> bytes:
    """The memo's value for `key`; without a memo it is computed for each call."""
    memo: Memo | None = current_app.extensions.get("memo")
    return compute() if memo is None else memo.get(key, compute)
