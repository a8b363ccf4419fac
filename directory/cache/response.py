"""Responses as the cache stores them, and what they become for each request: a status, headers and a body.

It also makes the constant responses.
"""

import gzip
from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from directory.cache.personal_body import PersonalParts
from directory.cache.reads import Read
from directory.http import access, endpoint, exchange
from directory.http.client import TEXTS, takes_gzip
from directory.http.headers import AnswerHeaders, CommonHeaders, Headers, of_app, varied, without_common
from directory.http.wsgi import header_lines

SCHEMES = ("http", "https")
STATUSES = {200: "200 OK", 304: "304 NOT MODIFIED"}
COMPRESSED_MIN = 1024  # bytes of a body; a shorter one is hardly worth it
LEVEL = 4  # of zlib: on English text 6 takes more than twice the time, and saves 4 % of the bytes
_PER_REQUEST = {"content-type", "content-length", "x-request-id"}  # the headers that are written for each request

_ONE_CALLERS = {"set-cookie", "content-encoding"}  # the headers of an answer that others may not be able to use

NO_SHARED_HEADERS = CommonHeaders(())


@dataclass(slots=True)
class CachedResponse:
    """A response. With `personal` it can be filled in for signed-in readers; without an ETag it is never a 304.

    One that `varies` also has a compressed form for those who accept that; `compressed` is that form, once it is made.
    """

    media_type: str
    headers: Headers
    shared: CommonHeaders
    etag: str
    body: bytes
    route: str
    personal: PersonalParts | None = None
    private: CommonHeaders = NO_SHARED_HEADERS  # those that it shares where it is for one caller alone
    varies: bool = False
    compressed: "CachedResponse | None" = field(default=None, compare=False)
    coding: str = ""
    _lines: bytes = field(default=b"", compare=False)

    def form_for(self, request: Read) -> "CachedResponse | None":
        """The form that the client gets; None if that is the compressed one, which is not made yet.

        A client that has the plain form already may keep it.
        """
        if not request.accepts or not self.varies or not takes_gzip(request.accepts):
            return self
        return self if request.names(self.etag) else self.compressed

    def compress(self) -> "CachedResponse":
        """Make the compressed form. Its ETag differs from the plain one's."""
        etag = f'{self.etag[:-1]}-gz"'
        headers = [("ETag", etag) if header[0] == "ETag" else header for header in self.headers]
        body = gzip.compress(self.body, LEVEL, mtime=0)
        return CachedResponse(self.media_type, headers, self.shared, etag, body, self.route, coding="gzip")

    def render(self, request: Read) -> tuple[int, Headers, bytes]:
        """The status, the headers without the shared ones, and the body for a request.

        A caller that has the response already gets 304, without the headers that describe the content.
        """
        request_id = ("X-Request-ID", request.request_id)
        if self.etag and request.if_none_match is not None and request.matches(self.etag):
            return 304, [*self.headers, request_id], b""
        return 200, [*self._content(), request_id], b"" if request.method == "HEAD" else self.body

    def encode(self, request: Read) -> tuple[int, bytes, bytes]:
        """The status, all header lines, and the body for a request, as the server sends them."""
        if request.if_none_match is not None or request.method == "HEAD":
            status, headers, body = self.render(request)
            return status, header_lines(headers) + self.shared.lines, body
        self._lines = self._lines or header_lines(self._content())
        request_id = request.request_id.encode("ascii")
        return 200, b"%bX-Request-ID: %b\r\n%b" % (self._lines, request_id, self.shared.lines), self.body

    def for_reader(self, body: bytes, etag: str) -> "CachedResponse":
        """The response for one caller alone, with another body."""
        headers = [("ETag", etag) if header[0] == "ETag" else header for header in self.headers]
        return CachedResponse(self.media_type, headers, self.private, etag, body, self.route)

    def _content(self) -> Headers:
        described = [("Content-Type", self.media_type), ("Content-Length", str(len(self.body)))]
        return [*self.headers, *described, *([("Content-Encoding", self.coding)] if self.coding else [])]


def public_response(
    rendered: endpoint.Rendered, headers: AnswerHeaders, scheme: str, spec: endpoint.Operation, rule: str
) -> CachedResponse:
    """The public response with this content to a request for the route over `scheme`."""
    etag = "" if rendered.etag is None else f'"{rendered.etag}"'
    own = [*rendered.headers.items(), *([("ETag", etag)] if etag else [])]
    media_type = rendered.media_type or ""
    varies = spec.cache.load_many is None and _is_worth_compressing(etag, media_type, rendered.body)
    shared, private = headers.of_public(own, scheme, rule, is_constant=spec.constant, varies=varies)
    # A copy, because the encoder's bytes keep alive the whole buffer that they were written into.
    body = bytes(memoryview(rendered.body))
    personal = PersonalParts(spec.cache) if PersonalParts.fits(spec) else None
    return CachedResponse(media_type, without_common(own), shared, etag, body, rule, personal, private, varies)


def _is_worth_compressing(etag: str, media_type: str, body: bytes) -> bool:
    return len(body) >= COMPRESSED_MIN and etag != "" and TEXTS.match(media_type) is not None


def constant_responses(app: Flask) -> dict[tuple[str, str, str], CachedResponse]:
    """The responses that are the same for every anonymous reader until the process ends, by the keys of the reads."""
    responses = {}
    for rule in app.url_map.iter_rules():
        view: Any = app.view_functions[rule.endpoint]
        spec: endpoint.Operation = getattr(view, "operation", endpoint.Operation())
        # Where reads are rate-limited there is no response cache, because each read has to be counted.
        is_constant = spec.constant or (spec.cache.constant and "response_cache" in app.extensions)
        if is_constant and access.is_open(app, rule.rule):
            with app.app_context():
                content: Any = spec.handle(exchange.anonymous(rule.rule, view=view))
            for scheme in SCHEMES:
                responses[scheme, rule.rule, ""] = public_response(content, of_app(app), scheme, spec, rule.rule)
    return responses


def cacheable_response(status: str, headers: Headers, body: bytes, route: str) -> CachedResponse | None:
    """The response of the application, if every caller would get the same; else None.

    It is a 200 with an ETag, without a cookie, whose Cache-Control begins with `public`.
    """
    named = {name.lower(): value for name, value in headers}
    if not status.startswith("200 ") or not named.keys().isdisjoint(_ONE_CALLERS) or "etag" not in named:
        return None
    if not named.get("cache-control", "").startswith("public"):
        return None
    own = [header for header in headers if header[0].lower() not in _PER_REQUEST]
    media_type, etag = named["content-type"], named["etag"]
    varies = _is_worth_compressing(etag, media_type, body)
    return CachedResponse(
        media_type, varied(own) if varies else own, NO_SHARED_HEADERS, etag, body, route, varies=varies
    )
