"""Requests to a provider: bounded in time, in bytes and in number, whatever the provider does.

One sign-in has one deadline for all its requests. Few callers at a time wait for providers, and none for one that has
failed several times in a row: else a provider that is slow would hold all threads.
"""

import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from threading import BoundedSemaphore, Lock
from typing import Any

import orjson
import requests

from directory.db import deadline
from directory.db.slots import given_back
from directory.extras.providers.refusals import ProviderFailed, ProviderUnavailable
from directory.services.delivery.http_session import WireSession
from directory.services.delivery.schedule import DeliveryPolicy
from directory.services.delivery.wire import Wire, reason, until_deadline

log = logging.getLogger(__name__)
SECONDS = 3.5  # for all requests of a sign-in; the service answers within 5
CONNECT = 2.0
MOST_BYTES = 256 * 1024
READ_BYTES = 16 * 1024
FAILURES = 3  # in a row, after which a provider is left alone
PAUSE = 10.0  # seconds for which it is
HEADERS = {
    "User-Agent": "Project-Directory/1.0",
    "Accept": "application/json",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
FAULTS: dict[type[BaseException], str] = {HTTPException: "the answer is not HTTP"}


class ProviderAnswer:
    """An answer of a provider, read whole. Authlib reads it as it reads one of `requests`."""

    def __init__(self, status_code: int, body: bytes) -> None:
        self.status_code, self._body = status_code, body

    def json(self) -> Any:
        """The JSON of the body. Raises ValueError."""
        return orjson.loads(self._body)

    def raise_for_status(self) -> None:
        """Raise ProviderFailed if the status is not a success."""
        if not 200 <= self.status_code < 300:
            raise ProviderFailed("status")

    def expect(self, kind: type) -> Any:
        """The JSON of a success, of this type. Raises ProviderFailed."""
        self.raise_for_status()
        try:
            value = self.json()
        except ValueError:
            raise ProviderFailed("no_json") from None
        if not isinstance(value, kind):
            raise ProviderFailed("no_json")
        return value


class Transport:
    """The requests of one sign-in to one provider, until its deadline."""

    def __init__(self, name: str, ends_at: float) -> None:
        self._name, self._ends_at = name, ends_at

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> ProviderAnswer:
        """The answer to a GET. Raises ProviderUnavailable, ProviderFailed."""
        return self._send(requests.Request("GET", url, headers={**HEADERS, **(headers or {})}))

    def post(self, url: str, data: Mapping[str, str], headers: Mapping[str, str], auth: Any) -> ProviderAnswer:
        """The answer to a form that is posted. Raises ProviderUnavailable, ProviderFailed."""
        return self._send(requests.Request("POST", url, headers={**HEADERS, **headers}, data=data, auth=auth))

    def _send(self, request: requests.Request) -> ProviderAnswer:
        seconds = self._ends_at - time.monotonic()
        policy = DeliveryPolicy(connect=max(0.001, min(CONNECT, seconds)), deadline=seconds)
        exchange = _Exchange(request, policy)
        _, ended = until_deadline(exchange.run, exchange.wire, f"provider-{self._name}", policy)
        if not ended or exchange.wire.was_cut:
            self._say(f"no answer within {SECONDS:g} s")
            raise ProviderUnavailable("slow")
        if exchange.error is not None:
            self._say(exchange.error)
            raise ProviderUnavailable("unreachable")
        if exchange.answer is None:
            raise ProviderFailed("too_large")
        if 300 <= exchange.answer.status_code < 400:
            raise ProviderFailed("redirect")
        if exchange.answer.status_code >= 500:
            raise ProviderFailed("status")
        return exchange.answer

    def _say(self, why: str) -> None:
        log.warning("provider unavailable", extra={"provider": self._name, "reason": why})


class _Exchange:
    """One request with its answer. It runs in a thread of its own."""

    def __init__(self, request: requests.Request, policy: DeliveryPolicy) -> None:
        self.wire = Wire()
        self._request, self._policy = request, policy
        self.answer: ProviderAnswer | None = None  # None also where it is larger than MOST_BYTES
        self.error: str | None = None

    def run(self) -> None:
        """Send, and read the answer."""
        try:
            with WireSession(self.wire) as session:
                timeout = (self._policy.connect, max(0.001, self._policy.deadline))
                prepared = session.prepare_request(self._request)
                with session.send(prepared, timeout=timeout, allow_redirects=False, stream=True) as response:
                    self._read(response)
        except Exception as error:
            self.error = reason(error, self._policy, FAULTS)
        finally:
            self.wire.close()

    def _read(self, response: requests.Response) -> None:
        body = b""
        # Undecoded, so that a small answer cannot unfold into a large one.
        while piece := response.raw.read1(READ_BYTES, decode_content=False):
            body += piece
            if len(body) > MOST_BYTES:
                return
        self.answer = ProviderAnswer(response.status_code, body)


class Access:
    """The way to one provider. `places` are those of all providers of the application together."""

    def __init__(self, name: str, places: BoundedSemaphore) -> None:
        self._name, self._places = name, places
        self._lock = Lock()
        self._failures, self._left_alone_until = 0, 0.0

    @contextmanager
    def opened(self) -> Iterator[Transport]:
        """Requests of one sign-in. The caller holds no database connection meanwhile. Raises ProviderUnavailable."""
        self._check()
        if not self._places.acquire(blocking=False):
            raise ProviderUnavailable("busy")
        failed = False
        try:
            with given_back():
                yield Transport(self._name, time.monotonic() + deadline.remaining(SECONDS))
        except ProviderUnavailable:
            failed = True
            raise
        finally:
            self._note(failed=failed)
            self._places.release()

    def _check(self) -> None:
        """Refuse while the provider is left alone; after each pause one caller tries again."""
        with self._lock:
            if self._failures < FAILURES:
                return
            if time.monotonic() < self._left_alone_until:
                raise ProviderUnavailable("left_alone")
            self._left_alone_until = time.monotonic() + PAUSE

    def _note(self, *, failed: bool) -> None:
        with self._lock:
            self._failures = self._failures + 1 if failed else 0
            if failed:
                self._left_alone_until = time.monotonic() + PAUSE
