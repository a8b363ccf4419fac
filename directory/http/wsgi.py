"""The proxies in front of a WSGI application, and its complete responses with their bytes."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from werkzeug.middleware.proxy_fix import ProxyFix

BODILESS = ("204", "304")  # the statuses whose responses end with their head, RFC 9112 section 6.3


class Response(NamedTuple):
    """A response as it is sent: the status, the header lines and the body, without the headers of a connection."""

    status: bytes
    headers: bytes
    body: bytes


class Answer(NamedTuple):
    """A response of WSGI, whole."""

    status: str
    headers: list[tuple[str, str]]
    body: bytes

    def encoded(self) -> Response:
        """The response as it is sent. Raises ValueError for a header that contains a line break."""
        headers = self.headers
        if not self.status.startswith(BODILESS) and not any(name.lower() == "content-length" for name, _ in headers):
            headers = [*headers, ("Content-Length", str(len(self.body)))]
        lines = header_lines(headers)
        if not lines.count(b"\r") == lines.count(b"\n") == len(headers):
            raise ValueError("a header of the response holds the end of a line")
        return Response(self.status.encode(), lines, self.body)


def behind_proxies(app: Any, hops: int) -> Any:
    """The application behind as many trusted proxies. The case of the scheme that they report does not matter.

    Some report that of WebSocket for a request that offers it, which the application ignores.
    """

    def as_http(environ: dict[str, Any], start: Any) -> Any:
        scheme = environ["wsgi.url_scheme"].lower()
        environ["wsgi.url_scheme"] = {"ws": "http", "wss": "https"}.get(scheme, scheme)
        return app(environ, start)

    return ProxyFix(as_http, x_for=hops, x_proto=hops, x_host=hops)


def read_body(parts: Iterable[bytes]) -> bytes:
    """Read the whole body of a WSGI response, and close it."""
    try:
        return b"".join(parts)
    finally:
        if close := getattr(parts, "close", None):
            close()


def header_lines(headers: Iterable[tuple[str, str]]) -> bytes:
    """The headers as they are sent."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1")
