"""Public answers, as they are kept and given again."""

from collections.abc import Iterable
from typing import NamedTuple

from directory.cache.key import OPAQUE, CacheableRequest

STATUSES = {200: "200 OK", 304: "304 NOT MODIFIED"}

Headers = list[tuple[str, str]]


class Answer(NamedTuple):
    """A public answer. Of its headers, all but the request's id, it holds what others have too only by reference."""

    media_type: str
    own: Headers
    shared: tuple[tuple[str, str], ...]
    etag: str
    body: bytes
    route: str

    def to(self, plain: CacheableRequest) -> tuple[int, Headers, bytes]:
        """The status, the headers that it does not share, and the body, as a caller is to get them.

        Who has it gets 304, without the headers of the content; and each gets the id of the request.
        """
        own = [*self.own, ("X-Request-ID", plain.request_id)]
        if self._is_had(plain):
            return 304, own, b""
        return 200, [("Content-Type", self.media_type), ("Content-Length", str(len(self.body))), *own], self.body

    def _is_had(self, plain: CacheableRequest) -> bool:
        """Whether the caller has the answer: weak comparison, RFC 9110 section 13.1.2."""
        if plain.if_none_match is None:
            return False
        return plain.if_none_match == "*" or self.etag in OPAQUE.findall(plain.if_none_match)


def public_answer(status: str, headers: Headers, body: bytes, route: str) -> Answer | None:
    """The answer that an application gave; None unless everybody would get it.

    That is a 200 that says that it is public, with an ETag and no cookie.
    """
    named = {name.lower(): value for name, value in headers}
    if not status.startswith("200 ") or "set-cookie" in named or "etag" not in named:
        return None
    if not named.get("cache-control", "").startswith("public"):
        return None
    own = [each for each in headers if each[0].lower() not in {"content-type", "content-length", "x-request-id"}]
    return Answer(named["content-type"], own, (), named["etag"], body, route)


def joined(parts: Iterable[bytes]) -> bytes:
    """The whole of a body that an application gives in parts, which are closed."""
    try:
        return b"".join(parts)
    finally:
        if close := getattr(parts, "close", None):
            close()
