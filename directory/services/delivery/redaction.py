"""The excerpt of a receiver's answer that is stored: its first kilobyte as text, without the endpoint's secrets."""

import re
from collections.abc import Iterable
from urllib.parse import parse_qsl, urlsplit

from directory.services.delivery.outbox import Endpoint
from directory.services.delivery.webhooks.signing import PREFIX

KEPT_BYTES = 1024
SECRET_LENGTH = 12  # from here on a part of an address may be a secret: a chat's tokens are longer
HIDDEN = "[hidden]"
# NUL cannot be stored in PostgreSQL, and the others would reach an operator's terminal.
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def excerpt(body: bytes, endpoint: Endpoint) -> str:
    """The first kilobyte of an answer. Receivers like to repeat the address that they were called by."""
    return without(_secret_parts(endpoint), body)


def without(secrets: Iterable[str], body: bytes) -> str:
    """The first kilobyte of an answer as text, with the secrets hidden."""
    text = CONTROLS.sub("�", body.decode("utf-8", "replace").replace("\r\n", "\n"))
    for part in sorted(secrets, key=len, reverse=True):
        text = text.replace(part, HIDDEN)
    return text.encode()[:KEPT_BYTES].decode("utf-8", "ignore")


def _secret_parts(endpoint: Endpoint) -> set[str]:
    parts = urlsplit(endpoint.url)
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    pieces = [path, parts.path, *parts.path.split("/"), *(value for _, value in parse_qsl(parts.query))]
    found = {piece for piece in pieces if len(piece) >= SECRET_LENGTH}
    found |= {endpoint.url, parts.password or endpoint.url}
    for secret in endpoint.secrets:
        found |= {secret, secret.removeprefix(PREFIX)}
    return found
