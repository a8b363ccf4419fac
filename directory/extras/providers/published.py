"""The metadata and keys that an OpenID provider publishes, each read at most once an hour.

Keys are read again where a token names one that is not known, but at most once a minute: the token is an outsider's.
"""

import time
from typing import Any

from joserfc.errors import JoseError
from joserfc.jwk import JWKRegistry, KeySet

from directory.extras.providers.refusals import ProviderFailed
from directory.extras.providers.transport import Transport

PATH = "/.well-known/openid-configuration"
LIFETIME = 3600.0  # seconds
KEYS_PAUSE = 60.0
MOST_KEYS = 50
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class Published:
    """The metadata and keys of one issuer. Threads may read the same again at once, and the last one stays."""

    def __init__(self, issuer: str) -> None:
        self._issuer = issuer
        self._metadata: tuple[float, dict[str, Any]] | None = None
        self._keys: tuple[float, KeySet] | None = None

    def metadata(self, transport: Transport) -> dict[str, Any]:
        """The metadata. Raises ProviderFailed, ProviderUnavailable."""
        known = self._metadata
        if known is not None and time.monotonic() < known[0] + LIFETIME:
            return known[1]
        metadata: dict[str, Any] = transport.get(self._issuer.removesuffix("/") + PATH).expect(dict)
        if metadata.get("issuer") != self._issuer:
            raise ProviderFailed("wrong_issuer")
        if not all(self._is_safe(metadata.get(name)) for name in ENDPOINTS):
            raise ProviderFailed("metadata")
        self._metadata = time.monotonic(), metadata
        return metadata

    def keys(self, transport: Transport, *, unknown: bool = False) -> KeySet:
        """The signing keys. `unknown` is true if a token names none of them. Raises the errors of `metadata`."""
        known = self._keys
        lifetime = KEYS_PAUSE if unknown else LIFETIME
        if known is not None and time.monotonic() < known[0] + lifetime:
            return known[1]
        listed = transport.get(self.metadata(transport)["jwks_uri"]).expect(dict).get("keys")
        entries = listed[:MOST_KEYS] if isinstance(listed, list) else []
        key_set = KeySet([key for entry in entries if (key := _key(entry))])
        if not key_set:
            raise ProviderFailed("keys")
        self._keys = time.monotonic(), key_set
        return key_set

    def userinfo_endpoint(self, transport: Transport) -> str | None:
        """The address with more claims than the tokens have; None if the provider has none."""
        url = self.metadata(transport).get("userinfo_endpoint")
        return url if self._is_safe(url) else None

    def _is_safe(self, url: Any) -> bool:
        """Whether an endpoint is as well protected as the issuer's own address."""
        scheme = self._issuer.partition("//")[0]
        return (
            isinstance(url, str) and url.startswith((f"{scheme}//", "https://")) and url.isascii() and url.isprintable()
        )


def _key(entry: Any) -> Any:
    """A public key for signatures; None for anything else: a key that is not understood does not spoil the others."""
    if not isinstance(entry, dict) or entry.get("kty") not in {"RSA", "EC"} or entry.get("use", "sig") != "sig":
        return None
    try:
        return JWKRegistry.import_key(entry)
    except (JoseError, ValueError, TypeError, KeyError):
        return None
