"""Recognises simple requests: those whose head can mean one thing only.

A request that is not recognised loses nothing: gunicorn's own parser reads it. The differential test holds that both
understand a recognised request in the same way; no header or method is added here without it.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple

from directory.cache.cacheable_request import UNCACHEABLE, CacheableRequest, has_one_form, is_etag_list
from directory.http import cache_tags

HEAD = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE) (/(?!/)[A-Za-z0-9/_.~-]*)(?:\?([!\"$-~]*))? HTTP/1\.1\r\n"
    rb"((?:[A-Za-z0-9-]+: [ -~]*\r\n){1,40})\r\n"
)
LINE = re.compile(rb"([A-Za-z0-9-]+): ([ -~]*)\r\n")
HOST = re.compile(rb"[A-Za-z0-9.-]+(?::[0-9]{1,5})?")
HEAD_MAX_SIMPLE = 4000  # bytes of a head, which is less than any limit of gunicorn's
# Headers that may change how a connection or a message is to be read.
FRAMING = {
    b"transfer-encoding", b"te", b"trailer", b"expect", b"upgrade", b"http2-settings",
    b"proxy-connection", b"keep-alive",
}  # fmt: skip
_UNCACHEABLE = {*(name.lower().encode() for name in UNCACHEABLE), b"content-length"}
CREDENTIALS = {name.lower().encode("ascii") for name in cache_tags.CREDENTIALS}
SCHEMES = {b"http": "http", b"https": "https"}


class ParsedRequest(NamedTuple):
    """A request without a body. It may be a cacheable one: `read` without credentials, else `read_with_credentials`."""

    method: str
    target: str
    path: str
    query: str
    headers: list[tuple[bytes, bytes]]
    read: CacheableRequest | None
    read_with_credentials: CacheableRequest | None = None

    def environ(self) -> dict[str, Any]:
        """The request's part of a WSGI environment, as gunicorn would make it."""
        return {
            **{_key(name): value.decode("ascii") for name, value in self.headers},
            "REQUEST_METHOD": self.method, "RAW_URI": self.target, "SCRIPT_NAME": "", "PATH_INFO": self.path,
            "QUERY_STRING": self.query, "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http",
            "wsgi.input": BytesIO(),
        }  # fmt: skip

    def credentials(self) -> dict[str, str]:
        """The part of that environment that identifies the caller."""
        return {_key(name): value.decode("ascii") for name, value in self.headers if name in CREDENTIALS}


def recognise(data: bytes, hops: int, identify: Callable[[str], str]) -> ParsedRequest | None:
    """The request that `data` is, behind `hops` trusted proxies; None where it may be anything else.

    `identify` makes the request's id from the one that the client sent, which may be empty.
    """
    found = HEAD.fullmatch(data) if len(data) <= HEAD_MAX_SIMPLE else None
    if found is None:
        return None
    method, path, query, lines = found.groups()
    headers = [(name.lower(), value.strip()) for name, value in LINE.findall(lines)]
    fields = dict(headers)
    if len(fields) < len(headers) or not FRAMING.isdisjoint(fields) or not HOST.fullmatch(fields.get(b"host", b"")):
        return None
    if fields.get(b"connection", b"keep-alive").lower() != b"keep-alive" or fields.get(b"content-length", b"0") != b"0":
        return None
    shown, asked = path.decode("ascii"), (query or b"").decode("ascii")
    target = f"{shown}?{asked}" if query is not None else shown
    read = with_credentials = None
    if method == b"GET" and _UNCACHEABLE.isdisjoint(fields):
        read = _cacheable_request(shown, asked, fields, hops, identify)
        if not CREDENTIALS.isdisjoint(fields):
            read, with_credentials = None, read
    return ParsedRequest(method.decode("ascii"), target, shown, asked, headers, read, with_credentials)


def _cacheable_request(
    path: str, query: str, fields: dict[bytes, bytes], hops: int, identify: Callable[[str], str]
) -> CacheableRequest | None:
    scheme = _scheme(fields.get(b"x-forwarded-proto"), hops)
    etags = fields[b"if-none-match"].decode("ascii") if b"if-none-match" in fields else None
    if scheme is None or not is_etag_list(etags) or not has_one_form(path, fields.get(b"accept", b"").decode("ascii")):
        return None
    return CacheableRequest(scheme, path, query, identify(fields.get(b"x-request-id", b"").decode("ascii")), etags)


@lru_cache(maxsize=200)
def _key(name: bytes) -> str:
    """The name of a header in a WSGI environment."""
    key = name.decode("ascii").upper().replace("-", "_")
    return key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"


def _scheme(forwarded: bytes | None, hops: int) -> str | None:
    """The scheme of the address, which a single trusted proxy decides; None where it takes more to tell."""
    if hops == 0 or (hops == 1 and forwarded is None):
        return "http"
    return SCHEMES.get(forwarded or b"") if hops == 1 else None
