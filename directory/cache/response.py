"""Public responses as the cache stores them."""

from collections.abc import Iterable
from typing import NamedTuple

from directory.cache.key import CacheableRequest
from directory.cache.template import Template
from directory.http import hooks

STATUSES = {200: "200 OK", 304: "304 NOT MODIFIED"}
VARY, _POLICY, _CACHING = "Vary", "Content-Security-Policy", "Cache-Control"
_PER_REQUEST = {"content-type", "content-length", "x-request-id"}  # the headers that are written for each request

Headers = list[tuple[str, str]]


class CachedResponse(NamedTuple):
    """A response. `shared_headers` is one tuple that all responses of a scheme refer to, to save memory.

    Without a `template` it cannot be made personal.
    """

    media_type: str
    headers: Headers
    shared_headers: "Shared"
    etag: str
    body: bytes
    route: str
    template: Template | None = None

    def render(self, request: CacheableRequest) -> tuple[int, Headers, bytes]:
        """The status, the headers without the shared ones, and the body for a request.

        A caller that has the response already gets 304, without the headers that describe the content.
        """
        headers = [*self.headers, ("X-Request-ID", request.request_id)]
        if request.matches(self.etag):
            return 304, headers, b""
        content = [("Content-Type", self.media_type), ("Content-Length", str(len(self.body)))]
        return 200, [*content, *headers], self.body


Shared = tuple[tuple[str, str], ...]


class SharedHeaders:
    """The headers that responses share: of each kind one tuple, to which all of them refer."""

    def __init__(self, vary: str) -> None:
        self._vary = vary
        self._public: dict[tuple[str, str | None, bool], Shared] = {}
        self._private: dict[Shared, Shared] = {}

    def public(self, scheme: str, own: dict[str, str]) -> Shared:
        """Those of a public response over `scheme`, with the headers of its own.

        A page has a policy of its own. What its Vary names comes first in the shared one.
        """
        kind = scheme, own.get(VARY), _POLICY in own
        if kind not in self._public:
            vary = ", ".join(filter(None, (own.get(VARY), self._vary)))
            security = [each for each in hooks.security_headers(scheme) if each[0] != _POLICY or _POLICY not in own]
            self._public[kind] = ((VARY, vary), *security, (_CACHING, hooks.PUBLIC))
        return self._public[kind]

    def private(self, public: Shared) -> Shared:
        """The same where the response is for one caller alone."""
        if public not in self._private:
            self._private[public] = (*(each for each in public if each[0] != _CACHING), (_CACHING, hooks.PRIVATE))
        return self._private[public]


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
