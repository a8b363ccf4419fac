"""Remembers rows that were found locked: one caller at a time tries such a row, and the others fail at once.

Otherwise callers that wait for one locked row would occupy all threads of the process, and callers that need other rows
would wait for a thread.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

from directory.errors import Unavailable
from directory.language.messages import _

PAUSE = 1.0  # seconds for which a row is regarded as locked; Retry-After of the refused requests
WAITING = 2  # callers of a process that may wait for locked rows at a time; each occupies a thread
REMEMBERED = 1_000  # rows; when there are more, those that were found locked before PAUSE are forgotten

_LOCKED = _("This is being changed right now. Try again in a second.")


class LockedRows:
    """The rows of one kind that were found locked, by their ids. All times are of time.monotonic()."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._found: dict[int, float] = {}  # when each was last found locked, or was last tried
        self._waited_for: set[int] = set()

    def admit(self, row: int) -> None:
        """Admit every caller while the row is free, and one in each PAUSE while it is locked. Raises Unavailable."""
        if row not in self._found:
            return
        with self._lock:
            since = self._found.get(row)
            if since is None:
                return
            if row in self._waited_for or time.monotonic() < since + PAUSE:
                raise Unavailable(_LOCKED)
            self._found[row] = time.monotonic()  # so that the next callers do not try too

    @contextmanager
    def waiting(self, row: int) -> Iterator[None]:
        """Wait for a locked row, as its only caller. Raises Unavailable if too many callers already wait."""
        with self._lock:
            self._note(row)
            if row in self._waited_for or len(self._waited_for) >= WAITING:
                raise Unavailable(_LOCKED)
            self._waited_for.add(row)
        try:
            yield
        finally:
            with self._lock:
                self._waited_for.discard(row)
                self._note(row)

    def note_free(self, row: int) -> None:
        """Record that the row is not locked any more."""
        if row in self._found:
            with self._lock:
                self._found.pop(row, None)

    def _note(self, row: int) -> None:
        now = time.monotonic()
        if len(self._found) >= REMEMBERED:
            self._found = {other: since for other, since in self._found.items() if now < since + PAUSE}
        self._found[row] = now
