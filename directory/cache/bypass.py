"""The signed-in callers for whom the cache is bypassed: the application answers their reads for a while."""

import time
from collections.abc import Iterable

from directory.services.accounts.sessions import Credential

# Seconds for which the application answers a caller whom the cache did not identify, and all after a failure.
BYPASS_SECONDS, BYPASS_ALL_SECONDS = 1.0, 5.0
BYPASSES_MAX = 1_000  # such callers that are remembered


class Bypass:
    """Until when the cache is bypassed, for all and for each; all times are of time.monotonic()."""

    def __init__(self) -> None:
        self.all_until = 0.0
        self.until: dict[Credential | None, float] = {}

    def includes(self, credential: Credential | None) -> bool:
        """Whether the application answers the caller for now."""
        now = time.monotonic()
        return now < self.all_until or now < self.until.get(credential, 0.0)

    def add_all(self) -> None:
        """Let the application answer all signed-in callers: the database did not answer the cache in time."""
        self.all_until = time.monotonic() + BYPASS_ALL_SECONDS

    def add(self, unknown: Iterable[Credential | None]) -> None:
        """Let the application answer the next reads of unknown callers: the cache would not identify them again."""
        if len(self.until) >= BYPASSES_MAX:
            self.until.clear()
        self.until |= dict.fromkeys(unknown, time.monotonic() + BYPASS_SECONDS)
