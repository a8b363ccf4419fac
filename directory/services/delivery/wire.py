"""The parts of an exchange that all protocols share: its end at a deadline, its errors in our words, its excerpt.

An exchange runs in a thread of its own while the deliverer watches the clock. The other side can send a byte at a time
for ever without a single read that takes too long, and a name server can take its time as well. At the deadline the
connection is cut, and one that is not open yet is never opened.
"""

import os
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress

from directory.services.delivery.schedule import DeliveryPolicy

GRACE = 0.2  # seconds of the deadline for a cut exchange to come to its end
KEPT_BYTES = 1024
HIDDEN = "[hidden]"
# NUL cannot be stored in PostgreSQL, and the others would reach an operator's terminal.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Wire:
    """The one connection of an exchange, which another thread can cut."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self.was_cut = False

    def admit(self, connection: socket.socket) -> socket.socket:
        """Take charge of a connection before a byte goes over it. Raises TimeoutError once the wire is cut."""
        with self._lock:
            if self.was_cut:
                connection.close()
                raise TimeoutError
            # A second handle on the same connection, to cut it by: TLS detaches the file descriptor of the first one,
            # and a descriptor that is closed may be given to another file.
            self._handle = connection.dup()
        return connection

    def cut(self) -> None:
        """End the connection, which wakes its reader, and prevent another one."""
        with self._lock:
            self.was_cut = True
            if self._handle is not None:
                with suppress(OSError):
                    self._handle.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give the second handle back."""
        with self._lock:
            if self._handle is not None:
                self._handle.close()
                self._handle = None


def until_deadline(exchange: Callable[[], None], wire: Wire, name: str, policy: DeliveryPolicy) -> tuple[int, bool]:
    """Run an exchange, and cut its wire at the deadline. Returns the milliseconds, and whether it has ended."""
    thread = threading.Thread(target=exchange, name=name, daemon=True)
    began = time.monotonic()
    thread.start()
    thread.join(policy.deadline - GRACE)
    if thread.is_alive():
        wire.cut()
        thread.join(GRACE)
    return round((time.monotonic() - began) * 1000), not thread.is_alive()


def reason(error: BaseException, policy: DeliveryPolicy, faults: Mapping[type[BaseException], str]) -> str:
    """Why there was no answer, in words of ours: a library's message holds the whole address, a chat's secret."""
    reasons = (words for cause in _causes(error) if (words := _words(cause, policy, faults)))
    return next(reasons, f"not sent: {type(error).__name__}")


def excerpt(body: bytes, secrets: Iterable[str]) -> str:
    """The first kilobyte of an answer as text, with the secrets hidden: it is stored."""
    text = CONTROLS.sub("�", body.decode("utf-8", "replace").replace("\r\n", "\n"))
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return text.encode()[:KEPT_BYTES].decode("utf-8", "ignore")


def _words(cause: BaseException, policy: DeliveryPolicy, faults: Mapping[type[BaseException], str]) -> str | None:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"certificate refused: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed: {cause.reason}"
    if isinstance(cause, TimeoutError):
        return f"no connection within {policy.connect:g} s"
    if isinstance(cause, socket.gaierror):
        return "host name not found"
    for kind, words in faults.items():
        if isinstance(cause, kind):
            return words
    return os.strerror(cause.errno).lower() if isinstance(cause, OSError) and cause.errno else None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
