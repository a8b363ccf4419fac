"""Storages of rate limits: the memory of the process, or Redis. The library selects one by the scheme of its URL."""

import time
from threading import Lock
from typing import Any, NamedTuple

from flask import current_app
from limits import RateLimitItem
from limits.storage import MemoryStorage, RedisSentinelStorage, RedisStorage

from directory.extensions import limiter
from directory.models import now

# Backs off as the library does: checks a lost Redis after 1, 2, 4 … 32 seconds.
CHECKS_MAX = 5
# Returns the milliseconds until the next turn, which it reserves by the time that a key has to live.
RESERVE = """
local wait = math.max(0, redis.call('PTTL', KEYS[1])) + tonumber(ARGV[1])
if wait <= tonumber(ARGV[2]) then redis.call('SET', KEYS[1], '1', 'PX', wait) end
return wait
"""


class Window(NamedTuple):
    """A moving window after a request: whether the request was admitted, the time of its first hit, and its hits."""

    is_admitted: bool
    begins: float
    taken: int


class ProcessMemory(MemoryStorage):
    """The library's storage in memory, made thread-safe: if two threads start its timer at once, one of them fails."""

    STORAGE_SCHEME = ["process"]  # noqa: RUF012 (as the library has it)
    base_exceptions: Any = ()  # it is never away

    def __init__(self, uri: str | None = None, **options: Any) -> None:
        self._turn = Lock()
        self._reserved: dict[str, float] = {}  # the last turn of each line, in time.monotonic()
        super().__init__(uri, **options)

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count a hit if the limit allows it, and return whether it does."""
        with self._turn:
            self._follow_the_clock(key)
            return super().acquire_entry(key, limit, expiry, amount)

    def time(self) -> float:
        """The clock by which it counts, that of the host."""
        return time.time()

    def take_back(self, key: str) -> None:
        """Remove the latest entry of a window."""
        with self._turn:
            if entries := self.events.get(key):
                entries.pop(0)  # the newest first

    def reserve(self, key: str, pause: float, at_most: float) -> float:
        """The seconds until the next turn of a line, which is reserved unless they are more than `at_most`."""
        now = time.monotonic()
        with self._turn:
            self._reserved = {line: at for line, at in self._reserved.items() if at > now}
            wait = max(0.0, self._reserved.get(key, now) - now) + pause
            if wait <= at_most:
                self._reserved[key] = now + wait
        return wait

    def count(self, item: RateLimitItem, asked: list[tuple[str, bool]]) -> list[Window]:
        """For each key the window of `item`, after counting a request if the second value is true."""
        windows = []
        for key, counts in asked:
            is_admitted = not counts or self.acquire_entry(key, item.amount, item.get_expiry())
            windows.append(Window(is_admitted, *self.get_moving_window(key, item.amount, item.get_expiry())))
        return windows

    def _follow_the_clock(self, key: str) -> None:
        """Move hits from the future to now: otherwise a clock that is set back an hour bars callers for an hour."""
        now = time.time()
        for entry in self.events.get(key, []):  # the newest first
            if entry.atime <= now:
                return
            entry.expiry += now - entry.atime
            entry.atime = now


class Redis(RedisStorage):
    """Replaces the library's storage in one Redis: it checks that Redis accepts writes, not only that it answers."""

    STORAGE_SCHEME = ["redis", "rediss", "redis+unix"]  # noqa: RUF012 (as the library has it)

    def time(self) -> float:
        """The clock by which it counts, which all hosts share: the library takes each host's own."""
        return now().timestamp()

    def take_back(self, key: str) -> None:
        """Remove the latest entry of a window."""
        self.storage.lpop(self.prefixed_key(key))  # the newest first

    def reserve(self, key: str, pause: float, at_most: float) -> float:
        """The same as `ProcessMemory.reserve`: a key that Redis keeps until the last turn."""
        milliseconds = int(1000 * pause), int(1000 * at_most)
        return int(self.storage.eval(RESERVE, 1, self.prefixed_key(key), *milliseconds)) / 1000

    def acquire_entry(self, key: str, limit: int, expiry: int, amount: int = 1) -> bool:
        """Count a hit if the limit allows it, and return whether it does."""
        return bool(self.lua_acquire_moving_window([self.prefixed_key(key)], [self.time(), limit, expiry, amount]))

    def get_moving_window(self, key: str, limit: int, expiry: int) -> tuple[float, int]:
        """The time of the first hit of the window, and the number of hits."""
        at = self.time()
        begins, taken = self.lua_moving_window([self.prefixed_key(key)], [at - expiry, limit]) or (at, 0)
        return float(begins), int(taken)

    def count(self, item: RateLimitItem, asked: list[tuple[str, bool]]) -> list[Window]:
        """The same as `ProcessMemory.count`, by the library's own scripts, in one round trip for all keys."""
        seconds, at = item.get_expiry(), self.time()
        pipeline = self.storage.pipeline(transaction=False)
        for key, counts in asked:
            name = self.prefixed_key(key)
            if counts:
                pipeline.eval(self.SCRIPT_ACQUIRE_MOVING_WINDOW, 1, name, at, item.amount, seconds, 1)
            pipeline.eval(self.SCRIPT_MOVING_WINDOW, 1, name, at - seconds, item.amount)
        answers = iter(pipeline.execute())
        windows = []
        for _, counts in asked:
            is_admitted = bool(next(answers)) if counts else True
            begins, taken = next(answers) or (at, 0)
            windows.append(Window(is_admitted, float(begins), int(taken)))
        return windows

    def check(self) -> bool:
        """Whether it accepts a write.

        A Redis that is full or a replica answers a ping. After such a check it would be tried again every second.
        """
        try:
            return bool(self.storage.set(self.prefixed_key("check"), 1, ex=1))
        except self.base_exceptions:
            return False


class Sentinel(Redis, RedisSentinelStorage):
    """Replaces the library's storage in the Redis that Sentinels name as the master."""

    STORAGE_SCHEME = ["redis+sentinel"]  # noqa: RUF012

    def __init__(self, uri: str, **options: Any) -> None:
        # A replica may lag. And by default the client retries an unreachable Sentinel for seconds.
        asking: dict[str, Any] = {**options, "retry": None}
        super().__init__(uri, use_replicas=False, sentinel_kwargs=asking, **options)


class _Checks:
    """The time (of time.monotonic()) of the last check of a lost Redis, and the number of checks."""

    last, count = 0.0, 0


def fall_back() -> None:
    """Count in memory from now on, and log it once."""
    if limiter._in_memory_fallback_enabled and not limiter._storage_dead:
        limiter.logger.warning("Rate limit storage unreachable - falling back to in-memory storage")
        _Checks.last, _Checks.count = time.monotonic(), 0
        _set_lost(True)


def look_for_redis() -> None:
    """Count in Redis again if it was lost and is back. It is checked after ever longer pauses."""
    if not limiter._storage_dead or time.monotonic() < _Checks.last + 2**_Checks.count:
        return
    _Checks.last, _Checks.count = time.monotonic(), min(_Checks.count + 1, CHECKS_MAX)
    if limiter.storage.check():
        limiter.logger.info("Rate limit storage recovered")
        _set_lost(False)


def _set_lost(is_lost: bool) -> None:
    limiter._storage_dead = is_lost
    if (metrics := current_app.extensions.get("metrics")) is not None:
        metrics.fallback.set(is_lost)
