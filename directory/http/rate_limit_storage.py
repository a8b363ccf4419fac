"""Where rate limits are counted: the memory of the process, or Redis. The library finds both by their schemes."""

import time
from threading import Lock
from typing import Any

from limits.storage import MemoryStorage, RedisSentinelStorage, RedisStorage

from directory.extensions import limiter


class ProcessMemory(MemoryStorage):
    """The library's storage in memory, made safe for threads: two that start its timer at once fail in one of them."""

    STORAGE_SCHEME = ["process"]  # noqa: RUF012 (as the library has it)

    def __init__(self, uri: str | None = None, **options: Any) -> None:
        self._turn = Lock()
        super().__init__(uri, **options)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Whether one more fits under the limit; if so it is counted."""
        with self._turn:
            self._follow_the_clock(key)
            return super().acquire_entry(key, limit, expiry, amount)

    def take_back(self, key: str) -> None:
        """Remove the latest entry of a window."""
        with self._turn:
            if entries := self.events.get(key):
                entries.pop(0)  # the newest first

    def _follow_the_clock(self, key: str) -> None:
        """Count what is from the future as of now: else a clock that is put back an hour bars callers for that hour."""
        now = time.time()
        for entry in self.events.get(key, []):  # the newest first
            if entry.atime <= now:
                return
            entry.expiry += now - entry.atime
            entry.atime = now


class _ChecksWrites(RedisStorage):
    """The library's storage in Redis, asked whether it counts and not just whether it answers."""

    STORAGE_SCHEME = []  # noqa: RUF012 (as the library has it)

    def take_back(self, key: str) -> None:
        """Remove the latest entry of a window."""
        self.storage.lpop(self.prefixed_key(key))  # the newest first

    def check(self) -> bool:
        """Whether it takes a write.

        One that is full, or a replica, answers a ping; taken for well, it would be tried and given up every second.
        """
        try:
            return bool(self.storage.set(self.prefixed_key("check"), 1, ex=1))
        except self.base_exceptions:
            return False


class Redis(_ChecksWrites):
    """The library's storage in one Redis, whose place it takes."""

    STORAGE_SCHEME = ["redis", "rediss", "redis+unix"]  # noqa: RUF012


class Sentinel(_ChecksWrites, RedisSentinelStorage):
    """The library's storage in the Redis that its Sentinels name as the master."""

    STORAGE_SCHEME = ["redis+sentinel"]  # noqa: RUF012

    def __init__(self, uri: str, **options: Any) -> None:
        # A replica may be behind. And the client's own way with a Sentinel that is gone is to try it for seconds.
        asking: dict[str, Any] = {**options, "retry": None}
        super().__init__(uri, use_replicas=False, sentinel_kwargs=asking, **options)


def fall_back() -> None:
    """Count in memory from now on, as the library does when it finds Redis mute, and log it once."""
    if limiter._in_memory_fallback_enabled and not limiter._storage_dead:
        limiter.logger.warning("Rate limit storage unreachable - falling back to in-memory storage")
        limiter._storage_dead = True
