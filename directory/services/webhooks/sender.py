"""One try over HTTP: bounded in time and in bytes whatever the receiver does, and silent about secrets.

The exchange runs in a thread of its own while the deliverer watches the clock: a receiver can drip its header lines
or its body for ever without a single read that takes too long, and a name server can take its time as well. At the
deadline the connection is cut, and one that is not open yet never will be.
"""

import logging
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException, RemoteDisconnected
from typing import Any

import requests
from requests.adapters import HTTPAdapter

from directory.services.webhooks import formats, redaction, signing
from directory.services.webhooks.claims import Claim, Outcome
from directory.services.webhooks.outbox import Endpoint
from directory.services.webhooks.schedule import Policy, retry_after

# It logs addresses whole, at every level: a chat's secret would come into our log by a receiver's broken header.
logging.getLogger("urllib3").setLevel(logging.CRITICAL + 1)

READ_BYTES = 4096
GRACE = 0.2  # seconds of the deadline for a cut exchange to come to its end
HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": "Project-Directory-Webhooks/1.0",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
FAULTS: dict[type[BaseException], str] = {
    socket.gaierror: "host name not found",
    RemoteDisconnected: "connection closed without an answer",
    HTTPException: "the answer is no HTTP",
}


def send(endpoint: Endpoint, claim: Claim, policy: Policy) -> Outcome:
    """Send a claimed delivery once. Whatever goes wrong is in the outcome."""
    exchange = _Exchange(endpoint, claim, policy)
    thread = threading.Thread(target=exchange.run, name=f"exchange-{claim.delivery_id}", daemon=True)
    began = time.monotonic()
    thread.start()
    thread.join(policy.deadline - GRACE)
    if thread.is_alive():
        exchange.wire.cut()
        thread.join(GRACE)
    milliseconds = round((time.monotonic() - began) * 1000)
    return exchange.outcome(milliseconds, ended=not thread.is_alive())


class Wire:
    """The exchange's one connection, and the knife for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._handle: socket.socket | None = None
        self.was_cut = False

    def admit(self, connection: socket.socket) -> socket.socket:
        """Take a connection in hand before a byte goes over it. Raises TimeoutError once the wire is cut."""
        with self._lock:
            if self.was_cut:
                connection.close()
                raise TimeoutError
            # A second handle on the same connection: TLS takes the first one's number away, and a number that is
            # closed may be given to another file by the time that we cut.
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


class _Adapter(HTTPAdapter):
    """Opens connections under the eye of a wire."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        wire, parent = self._wire, pool.ConnectionCls

        class Connection(parent):  # type: ignore[misc,valid-type]
            def _new_conn(self) -> socket.socket:
                return wire.admit(super()._new_conn())

        pool.ConnectionCls = Connection
        return pool


class _Session(requests.Session):
    """One exchange's session: nothing from the environment, no cookies of another, no redirects."""

    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self.trust_env = False
        self.mount("https://", _Adapter(wire))
        self.mount("http://", _Adapter(wire))

    def get_redirect_target(self, _response: requests.Response) -> None:
        """Follow no redirect. Even with allow_redirects=False, requests looks ahead and reads the whole body."""


class _Exchange:
    """What one try sends, and what comes back of it."""

    def __init__(self, endpoint: Endpoint, claim: Claim, policy: Policy) -> None:
        self.wire = Wire()
        self._endpoint, self._claim, self._policy = endpoint, claim, policy
        self._status: int | None = None
        self._error: str | None = None
        self._retry_after: float | None = None
        self._body = b""

    def run(self) -> None:
        """Send, and read the answer's beginning."""
        try:
            with _Session(self.wire) as session, self._post(session) as response:
                # A head that the cut broke off reads like one that has come to its end.
                if not self.wire.was_cut:
                    self._retry_after = retry_after(response.headers.get("Retry-After"))
                    self._status = response.status_code
                    self._read(response.raw)
        except Exception as error:
            self._error = _reason(error, self._policy)
        finally:
            self.wire.close()

    def outcome(self, milliseconds: int, *, ended: bool) -> Outcome:
        """How it went. The status line decides: a body that breaks off after it is of no further interest."""
        if not ended or (self._status is None and self.wire.was_cut):
            return Outcome(None, f"no answer within {self._policy.deadline:g} s", milliseconds)
        if self._status is None:
            return Outcome(None, self._error, milliseconds)
        excerpt = redaction.excerpt(self._body, self._endpoint)
        asked = self._retry_after if self._status in (429, 503) else None
        return Outcome(self._status, None, milliseconds, excerpt, asked)

    def _post(self, session: requests.Session) -> requests.Response:
        body = formats.render(self._endpoint.format, self._claim.payload, self._endpoint.site)
        secrets = self._endpoint.secrets if self._endpoint.format == "standard" else ()
        signed = signing.headers(secrets, self._claim.webhook_id, body, at=int(time.time()))
        return session.post(
            self._endpoint.url,
            data=body,
            headers={**HEADERS, **signed},
            timeout=(self._policy.connect, self._policy.deadline),
            allow_redirects=False,
            stream=True,
        )

    def _read(self, raw: Any) -> None:
        # Undecoded, so that a small answer cannot unfold into a large one; and piece by piece, so that what came
        # before the cut is not lost.
        while len(self._body) < READ_BYTES:
            piece = raw.read1(READ_BYTES - len(self._body), decode_content=False)
            if not piece:
                return
            self._body += piece


def _reason(error: BaseException, policy: Policy) -> str:
    """Why there was no answer, in words of ours: a library's message holds the whole address, a chat's secret."""
    found = (words for cause in _causes(error) if (words := _words(cause, policy)))
    return next(found, f"not sent: {type(error).__name__}")


def _words(cause: BaseException, policy: Policy) -> str | None:
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"certificate refused: {cause.verify_message}"
    if isinstance(cause, ssl.SSLError):
        return f"TLS failed: {cause.reason}"
    if isinstance(cause, TimeoutError):
        return f"no connection within {policy.connect:g} s"
    for kind, words in FAULTS.items():
        if isinstance(cause, kind):
            return words
    return os.strerror(cause.errno).lower() if isinstance(cause, OSError) and cause.errno else None


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
