"""A circuit breaker: while the database server does not answer, requests fail at once.

Without it each request would wait until its deadline. A few of them would occupy all threads, and the next requests
would wait for a thread.
"""

import threading
import time
from collections.abc import Callable
from typing import Any

import psycopg

SUSPICION_PAUSE = 1.0  # minimum seconds between two probes while the breaker is closed
PROBE_PAUSE = 0.25  # minimum seconds between two probes while it is open

Connect = Callable[[], psycopg.Connection[Any]]


class CircuitBreaker:
    """Opens when a probe (a new connection) gets no answer, and closes when a probe gets one.

    `connect` is set after the first connection. Probes run in a thread, one at a time.
    """

    def __init__(self) -> None:
        self.connect: Connect | None = None
        self._lock = threading.Lock()
        self._is_probing = self._is_open = False
        self._probed_at = 0.0

    def check_open(self) -> bool:
        """Whether the last probe got no answer. While the breaker is open, a check starts the next probe."""
        if self._is_open:
            self.probe()
        return self._is_open

    def probe(self) -> None:
        """Start a probe in a thread, unless one is running or has just ended. Returns at once."""
        pause = PROBE_PAUSE if self._is_open else SUSPICION_PAUSE
        with self._lock:
            if self._is_probing or self.connect is None or time.monotonic() < self._probed_at + pause:
                return
            self._is_probing = True
        threading.Thread(target=self._probe, args=(self.connect,), daemon=True).start()

    def _probe(self, connect: Connect) -> None:
        try:
            connect().close()  # takes connect_timeout at most; a server that accepts a connection has answered
            self._is_open = False
        except psycopg.Error:
            self._is_open = True
        finally:
            self._probed_at, self._is_probing = time.monotonic(), False
