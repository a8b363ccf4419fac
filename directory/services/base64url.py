"""base64url without padding (RFC 4648 section 5), for URLs and the JSON of WebAuthn."""

import base64


def encode(data: bytes) -> str:
    """Return the text of bytes."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text: str) -> bytes:
    """Return the bytes of a text. Characters outside of the alphabet are skipped; a wrong length raises ValueError."""
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
