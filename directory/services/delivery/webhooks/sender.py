"""One try over HTTP: bounded in time and in bytes whatever the receiver does, and silent about secrets.

`wire` ends the exchange at its deadline.
"""

from http.client import HTTPException, RemoteDisconnected
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import requests

from directory.models import now
from directory.services.delivery.channels import Webhook
from directory.services.delivery.http_session import WireSession
from directory.services.delivery.leases import Lease, Outcome
from directory.services.delivery.schedule import DeliveryPolicy, retry_after
from directory.services.delivery.webhooks import formats
from directory.services.delivery.wire import Wire, excerpt, reason, until_deadline

READ_BYTES = 4096
SECRET_LENGTH = 12  # from here on a part of an address may be a secret: a chat's tokens are longer
HEADERS = {
    "Content-Type": "application/json",
    "User-Agent": "Project-Directory-Webhooks/1.0",
    "Accept": "*/*",
    "Accept-Encoding": "identity",
    "Connection": "close",
}
FAULTS: dict[type[BaseException], str] = {
    RemoteDisconnected: "connection closed without an answer",
    HTTPException: "the answer is not HTTP",
}


def send(endpoint: Webhook, lease: Lease, policy: DeliveryPolicy) -> Outcome:
    """Send a leased delivery once. Whatever goes wrong is in the outcome."""
    exchange = _Exchange(endpoint, lease, policy)
    name = f"exchange-{lease.delivery_id}"
    milliseconds, ended = until_deadline(exchange.run, exchange.wire, name, policy)
    return exchange.outcome(milliseconds, ended=ended)


class _Exchange:
    """One try: the request that is sent, and the receiver's answer."""

    def __init__(self, endpoint: Webhook, lease: Lease, policy: DeliveryPolicy) -> None:
        self.wire = Wire()
        self._endpoint, self._lease, self._policy = endpoint, lease, policy
        self._status: int | None = None
        self._error: str | None = None
        self._retry_after: float | None = None
        self._body = b""

    def run(self) -> None:
        """Send, and read the answer's beginning."""
        try:
            with WireSession(self.wire) as session, self._post(session) as response:
                # http.client reads headers that the cut broke off as if they were whole.
                if not self.wire.was_cut:
                    self._retry_after = retry_after(response.headers.get("Retry-After"))
                    self._status = response.status_code
                    self._read(response.raw)
        except Exception as error:
            self._error = reason(error, self._policy, FAULTS)
        finally:
            self.wire.close()

    def outcome(self, milliseconds: int, *, ended: bool) -> Outcome:
        """How it went. The status line decides: a body that breaks off after it is of no further interest."""
        if not ended or (self._status is None and self.wire.was_cut):
            return Outcome(None, f"no answer within {self._policy.deadline:g} s", milliseconds)
        if self._status is None:
            return Outcome(None, self._error, milliseconds)
        asked = self._retry_after if self._status in (429, 503) else None
        return Outcome(self._status, None, milliseconds, excerpt(self._body, secret_parts(self._endpoint)), asked)

    def _post(self, session: requests.Session) -> requests.Response:
        endpoint = self._endpoint
        body = formats.render(endpoint.format, self._lease.payload, endpoint.site, names=endpoint.names)
        secrets = self._endpoint.secrets if formats.FORMATS[self._endpoint.format].signed else ()
        signed = formats.signed_headers(secrets, self._lease.webhook_id, body, at=int(now().timestamp()))
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


def secret_parts(endpoint: Webhook) -> set[str]:
    """The secrets in a receiver's address, which it likes to repeat, and those that sign."""
    parts = urlsplit(endpoint.url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    pieces = [path, parts.path, *parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    hidden = {piece for piece in pieces if len(piece) >= SECRET_LENGTH}
    hidden |= {endpoint.url, parts.password or endpoint.url}
    for secret in endpoint.secrets:
        hidden |= {secret, secret.removeprefix(formats.PREFIX)}
    return hidden
