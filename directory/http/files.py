"""Files that are served from memory, by a route of Flask or directly by the server, plain or compressed by gzip.

An application has one `Files`. A route registers a function that finds its files by the rest of the path, such as the
scripts of the pages. The route uses it, and so does a server that serves files without a thread.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from flask import Flask, Response, request
from werkzeug.datastructures import ETags
from werkzeug.http import parse_etags

from directory.errors import NotFound
from directory.http import access, endpoint, hooks
from directory.http.client import takes_gzip
from directory.http.exchange import ROUTE, received
from directory.http.headers import Headers
from directory.http.wsgi import Answer

FOREVER = "public, max-age=31536000, immutable"  # for a file whose address changes with its content
STATUSES = {200: "200 OK", 304: "304 NOT MODIFIED"}


@dataclass(frozen=True)
class StoredFile:
    """A file, its compressed form if that is smaller, and its Cache-Control."""

    media_type: str
    content: bytes
    compressed: bytes | None = None
    caching: str = FOREVER

    @cached_property
    def _variants(self) -> dict[bool, tuple[Headers, str, bytes]]:
        """The headers, the ETag and the body of the plain and of the compressed file."""
        variants = {}
        for is_compressed, body in ((False, self.content), (True, self.compressed)):
            if body is not None:
                etag, coding = endpoint.digest(body), [("Content-Encoding", "gzip")] if is_compressed else []
                described = [("Content-Type", self.media_type), ("Content-Length", str(len(body))), *coding]
                variants[is_compressed] = described, etag, body
        return variants

    @property
    def vary(self) -> list[str]:
        """The request headers that its answers vary by."""
        return [] if self.compressed is None else ["Accept-Encoding"]

    def answer(self, accepts: str, has: str | None) -> tuple[int, Headers, bytes]:
        """The status, the headers and the body, by the client's Accept-Encoding and If-None-Match."""
        is_compressed = self.compressed is not None and takes_gzip(accepts)
        described, etag, body = self._variants[is_compressed]
        headers = [("Cache-Control", self.caching), ("ETag", f'"{etag}"')]
        if has is not None and _etags(has).contains_weak(etag):
            return 304, headers, b""
        return 200, [*described, *headers], body


Find = Callable[[str], StoredFile | None]


class Files:
    """The files of an application, by the first word of their path."""

    def __init__(self, app: Flask) -> None:
        self._app, self._finds = app, dict[str, tuple[str, Find]]()

    def add(self, rule: str, find: Find) -> None:
        """Register `find` for the files of a public route without a rate limit. Its rule is `/word/<name>`.

        A route that is for members alone is left to the application, which knows who asks.
        """
        if access.is_open(self._app, rule):
            self._finds[rule.split("/")[1]] = rule, find

    def answer(self, environ: dict[str, Any], began: float) -> Answer | None:
        """The answer to a request for a file, equal to the application's; None if the application has to answer.

        It is logged and counted. `began` is a time of time.perf_counter().
        """
        method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
        _, _, rest = path.partition("/")
        word, _, name = rest.partition("/")
        if word not in self._finds or method not in ("GET", "HEAD") or not self._is_simple(environ):
            return None
        rule, find = self._finds[word]
        if (file := find(name)) is None:
            return None
        status, headers, body = file.answer(environ.get("HTTP_ACCEPT_ENCODING", ""), environ.get("HTTP_IF_NONE_MATCH"))
        environ[ROUTE] = rule
        own = [*headers, *([("Vary", ", ".join(file.vary))] if file.vary else [])]
        whole = hooks.finish(self._app, received(environ, began), status, own)
        return Answer(STATUSES[status], whole, b"" if method == "HEAD" else body)

    @staticmethod
    def _is_simple(environ: dict[str, Any]) -> bool:
        """Whether the request contains nothing that can change the answer or be refused."""
        is_plain = "HTTP_AUTHORIZATION" not in environ and "HTTP_ORIGIN" not in environ
        return is_plain and environ["PATH_INFO"].isascii()  # other letters are encoded in the path


def respond(file: StoredFile | None) -> Response:
    """The response of a route to the current request. Raises NotFound."""
    if file is None:
        raise NotFound
    status, headers, body = file.answer(
        request.headers.get("Accept-Encoding", ""), request.headers.get("If-None-Match")
    )
    response = Response(body, status, headers)
    response.vary.update(file.vary)
    return response


@lru_cache(maxsize=64)
def _etags(has: str) -> ETags:
    return parse_etags(has)
