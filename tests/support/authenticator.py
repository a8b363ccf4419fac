"""An authenticator in software: it makes passkeys and signs with them, as WebAuthn Level 3 says, or wrongly on request.

It writes its CBOR and its signatures by itself, so that it shares no code with the library that checks them.
"""

import base64
import hashlib
import json
import secrets
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


def text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def raw(value: str) -> bytes:
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))


def cbor(value: Any) -> bytes:
    """A value of the few kinds that an attestation has."""
    if isinstance(value, int):
        return _head(0, value) if value >= 0 else _head(1, -1 - value)
    if isinstance(value, bytes):
        return _head(2, len(value)) + value
    if isinstance(value, str):
        return _head(3, len(value.encode())) + value.encode()
    return _head(5, len(value)) + b"".join(cbor(key) + cbor(each) for key, each in value.items())


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind << 5 | number])
    size = 1 if number < 256 else 2
    return bytes([kind << 5 | 23 + size]) + number.to_bytes(size)


@dataclass
class Authenticator:
    """One passkey. `counts` is the counter before its next signature; None for one that always sends 0."""

    origin: str
    counts: int | None = 0
    verifies: bool = True
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    handle: str = ""
    host: str = ""

    def __post_init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())

    def create(self, options: dict[str, Any], **changed: Any) -> dict[str, Any]:
        """A new passkey by the options of a registration, as `PublicKeyCredential.toJSON()` gives it."""
        self.handle, self.host = options["user"]["id"], options["rp"]["id"]
        numbers = self._key.public_key().public_numbers()
        key = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)}
        attested = bytes(16) + len(self.credential_id).to_bytes(2) + self.credential_id + cbor(key)
        data = self._data(ATTESTED) + attested
        response = {
            "clientDataJSON": text(self._client_data("webauthn.create", options["challenge"], **changed)),
            "attestationObject": text(cbor({"fmt": "none", "attStmt": {}, "authData": data})),
            "transports": ["internal"],
        }
        return self._credential(response)

    def sign(self, options: dict[str, Any], **changed: Any) -> dict[str, Any]:
        """The answer to the options of a sign-in."""
        self.host = self.host or options["rpId"]
        data, client = self._data(0), self._client_data("webauthn.get", options["challenge"], **changed)
        signature = self._key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        response = {
            "clientDataJSON": text(client), "authenticatorData": text(data), "signature": text(signature),
            "userHandle": self.handle,
        }  # fmt: skip
        return self._credential(response)

    def _credential(self, response: dict[str, Any]) -> dict[str, Any]:
        name = text(self.credential_id)
        return {
            "id": name, "rawId": name, "type": "public-key", "response": response, "clientExtensionResults": {},
            "authenticatorAttachment": "platform",
        }  # fmt: skip

    def _client_data(self, kind: str, asked: str, **changed: Any) -> bytes:
        facts = {"type": kind, "challenge": asked, "origin": self.origin, "crossOrigin": False}
        return json.dumps({**facts, **changed}).encode()

    def _data(self, flags: int) -> bytes:
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        if self.counts is not None:
            self.counts += 1
        return hashlib.sha256(self.host.encode()).digest() + bytes([flags]) + (self.counts or 0).to_bytes(4)
