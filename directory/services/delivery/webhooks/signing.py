"""Signatures of Standard Webhooks 1.0: HMAC-SHA256 over the id, the time and the very bytes sent."""

import base64
import hashlib
import hmac
from collections.abc import Iterable

PREFIX = "whsec_"


def key(secret: str) -> bytes:
    """The key of a secret: base64, its padding optional, `whsec_` before it or not. Raises ValueError.

    The strict alphabet: libraries that skip foreign characters would come to another key than those that do not.
    """
    encoded = secret.removeprefix(PREFIX)
    decoded = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    if not decoded:
        raise ValueError("the secret is empty")
    return decoded


def headers(secrets: Iterable[str], webhook_id: str, body: bytes, *, at: int) -> dict[str, str]:
    """The headers for `body`, sent `at` (in seconds since 1970): one signature for each secret, the newest first."""
    signed = f"{webhook_id}.{at}.".encode() + body
    signatures = [_signature(secret, signed) for secret in secrets]
    named = {"webhook-id": webhook_id, "webhook-timestamp": str(at)}
    return named | ({"webhook-signature": " ".join(signatures)} if signatures else {})


def _signature(secret: str, signed: bytes) -> str:
    digest = hmac.new(key(secret), signed, hashlib.sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"
