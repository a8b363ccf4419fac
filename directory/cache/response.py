"""Public responses as the cache stores them."""

from collections.abc import Iterable
from typing import NamedTuple

from directory.cache.key import CacheableRequest
from directory.cache.template import Template
from directory.http import hooks

STATUSES = {200: "200 OK", 304: "304 NOT MODIFIED"}
VARY, _POLICY = "Vary", "Content-Security-Policy"
_PER_REQUEST = {"content-type", "content-length", "x-request-id"}  # the headers that are written for each request

Headers = list[tuple[str, str]]


class CachedResponse(NamedTuple):
    """A response. `shared_headers` is one tuple that all responses of a scheme refer to, to save memory.

    Without a `template` it cannot be made personal.
    """

    media_type: str
    headers: Headers
    shared_headers: tuple[tuple[str, str], ...]
    etag: str
    body: bytes
    route: str
    template: Template | None = None

    def render(self, request: CacheableRequest) -> tuple[int, Headers, bytes]:
        """The status, the headers without the shared ones, and the body for a request.

        A caller that has the response already gets 304, without the headers that describe the content.
        """
        # The shared Vary has its own in it.
        own = [each for each in self.headers if each[0] != VARY] if self.shared_headers else self.headers
        headers = [*own, ("X-Request-ID", request.request_id)]
        if request.matches(self.etag):
            return 304, headers, b""
        content = [("Content-Type", self.media_type), ("Content-Length", str(len(self.body)))]
        return 200, [*content, *headers], self.body


class SharedHeaders:
    """The headers that responses share: of each kind one tuple, to which all of them refer."""

    def __init__(self, vary: str) -> None:
        self._vary = vary
        self._known: dict[tuple[str, str, bool, str], tuple[tuple[str, str], ...]] = {}

    def of(self, scheme: str, own: Headers, caching: str) -> tuple[tuple[str, str], ...]:
        """Those of a response over `scheme` with its `own` headers.

        A page has a policy of its own. What its Vary names comes first in the shared one.
        """
        named = dict(own)
        has_policy, vary = _POLICY in named, ", ".join(filter(None, (named.get(VARY), self._vary)))
        kind = scheme, caching, has_policy, vary
        if kind not in self._known:
            security = [each for each in hooks.security_headers(scheme) if each[0] != _POLICY or not has_policy]
            self._known[kind] = ((VARY, vary), *security, ("Cache-Control", caching))
        return self._known[kind]


def cacheable_response(status: str, headers: Headers, body: bytes, route: str) -> CachedResponse | None:
    """The response of an application, if every caller would get it; else None.

    That is a 200 whose Cache-Control begins with `public`, with an ETag and without a cookie.
    """
    named = {name.lower(): value for name, value in headers}
    if not status.startswith("200 ") or "set-cookie" in named or "etag" not in named:
        return None
    if not named.get("cache-control", "").startswith("public"):
        return None
    own = [each for each in headers if each[0].lower() not in _PER_REQUEST]
    return CachedResponse(named["content-type"], own, (), named["etag"], body, route)


def read_body(parts: Iterable[bytes]) -> bytes:
    """The whole body of a WSGI response, which is closed."""
    try:
        return b"".join(parts)
    finally:
        if close := getattr(parts, "close", None):
            close()
