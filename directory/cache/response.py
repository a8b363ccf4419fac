"""Responses as the cache stores them, and what they become for each request: a status, headers and a body.

It also makes the constant responses.
"""

from dataclasses import dataclass, field
from typing import Any

from flask import Flask

from directory.cache.personal_body import PersonalParts
from directory.cache.reads import Read
from directory.http import endpoint
from directory.http.exchange import Exchange
from directory.http.headers import AnswerHeaders, CommonHeaders, Facts, Headers, of_app, without_common
from directory.http.wsgi import header_lines

SCHEMES = ("http", "https")
STATUSES = {200: "200 OK", 304: "304 NOT MODIFIED"}
_PER_REQUEST = {"content-type", "content-length", "x-request-id"}  # the headers that are written for each request

NO_SHARED_HEADERS = CommonHeaders(())


@dataclass(slots=True)
class CachedResponse:
    """A response. With `personal` it can be filled in for signed-in readers; without an ETag it is never a 304."""

    media_type: str
    headers: Headers
    shared: CommonHeaders
    etag: str
    body: bytes
    route: str
    personal: PersonalParts | None = None
    private: CommonHeaders = NO_SHARED_HEADERS  # those that it shares where it is for one caller alone
    _lines: bytes = field(default=b"", compare=False)

    def render(self, request: Read) -> tuple[int, Headers, bytes]:
        """The status, the headers without the shared ones, and the body for a request.

        A caller that has the response already gets 304, without the headers that describe the content.
        """
        request_id = ("X-Request-ID", request.request_id)
        if self.etag and request.matches(self.etag):
            return 304, [*self.headers, request_id], b""
        return 200, [*self._content(), request_id], self.body

    def encode(self, request: Read) -> tuple[int, bytes, bytes]:
        """The status, all header lines, and the body for a request, as the server sends them."""
        if request.if_none_match is not None:
            status, headers, body = self.render(request)
            return status, header_lines(headers) + self.shared.lines, body
        self._lines = self._lines or header_lines(self._content())
        request_id = request.request_id.encode("ascii")
        return 200, b"%bX-Request-ID: %b\r\n%b" % (self._lines, request_id, self.shared.lines), self.body

    def for_reader(self, body: bytes, etag: str) -> "CachedResponse":
        """The response for one caller alone, with another body."""
        headers = [("ETag", etag) if each[0] == "ETag" else each for each in self.headers]
        return CachedResponse(self.media_type, headers, self.private, etag, body, self.route)

    def _content(self) -> Headers:
        return [*self.headers, ("Content-Type", self.media_type), ("Content-Length", str(len(self.body)))]


def public_response(
    rendered: endpoint.Rendered, headers: AnswerHeaders, scheme: str, path: str, spec: endpoint.Operation, rule: str
) -> CachedResponse:
    """The public response with this content to a request for `path` over `scheme`."""
    etag = "" if rendered.etag is None else f'"{rendered.etag}"'
    own = [*rendered.headers.items(), *([("ETag", etag)] if etag else [])]
    facts = Facts("GET", path, scheme, "", is_constant=spec.constant)
    shared, private = headers.common(own, 200, facts), headers.common(own, 200, facts._replace(is_signed_in=True))
    # A copy, because the encoder's bytes keep alive the whole buffer that they were written into.
    body = bytes(memoryview(rendered.body))
    personal = PersonalParts(spec.cache) if PersonalParts.fits(spec) else None
    return CachedResponse(rendered.media_type or "", without_common(own), shared, etag, body, rule, personal, private)


def constant_responses(app: Flask) -> dict[tuple[str, str, str], CachedResponse]:
    """The responses that are the same for every anonymous reader until the process ends, by the keys of the reads."""
    made = {}
    for rule in app.url_map.iter_rules():
        view: Any = app.view_functions[rule.endpoint]
        spec: endpoint.Operation = getattr(view, "operation", endpoint.Operation())
        # Where reads are rate-limited there is no response cache, because each read has to be counted.
        if spec.constant or (spec.cache.constant and "response_cache" in app.extensions):
            with app.app_context():
                content = endpoint.read(spec, view.view, Exchange("GET", rule.rule, "", ""), {})
            for scheme in SCHEMES:
                made[scheme, rule.rule, ""] = public_response(content, of_app(app), scheme, rule.rule, spec, rule.rule)
    return made


def cacheable_response(status: str, headers: Headers, body: bytes, route: str) -> CachedResponse | None:
    """The response of the application, if every caller would get the same; else None.

    It is a 200 with an ETag, without a cookie, whose Cache-Control begins with `public`.
    """
    named = {name.lower(): value for name, value in headers}
    if not status.startswith("200 ") or "set-cookie" in named or "etag" not in named:
        return None
    if not named.get("cache-control", "").startswith("public"):
        return None
    own = [each for each in headers if each[0].lower() not in _PER_REQUEST]
    return CachedResponse(named["content-type"], own, NO_SHARED_HEADERS, named["etag"], body, route)
