"""Recognises plain requests: those that nothing in their head can make mean something else than it says.

What is not surely plain is no worse for it; it goes the way of all requests, by gunicorn's own parser. A test holds
that both understand the same of whatever is recognised here.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple

HEAD = re.compile(
    rb"(GET|POST|PUT|PATCH|DELETE) (/api/[A-Za-z0-9/_.~-]*)(?:\?([!\"$-~]*))? HTTP/1\.1\r\n"
    rb"((?:[A-Za-z0-9-]+: [ -~]*\r\n){1,40})\r\n"
)
LINE = re.compile(rb"([A-Za-z0-9-]+): ([ -~]*)\r\n")
HOST = re.compile(rb"[A-Za-z0-9.-]+(?::[0-9]{1,5})?")
LONGEST = 4000  # bytes of a head, which is less than any limit of the server's
# What may change how a connection or a message is to be read.
FRAMING = {
    b"transfer-encoding", b"te", b"trailer", b"expect", b"upgrade", b"http2-settings",
    b"proxy-connection", b"keep-alive",
}  # fmt: skip
# With any of these a read may get another answer than the next one.
PERSONAL = {b"authorization", b"cookie", b"origin", b"if-match", b"range", b"content-length"}
# What If-None-Match may say, RFC 9110 section 13.1.2. Of what else it says others make what they like.
_TAG = r'(?:W/)?"[!#-~]*"'
TAGS = re.compile(rf"\*|{_TAG}(?:[ \t]*,[ \t]*{_TAG})*")
OPAQUE = re.compile(r'"[!#-~]*"')
SCHEMES = {b"http": "http", b"https": "https"}


class Plain(NamedTuple):
    """An anonymous read: where it goes, its id, and which answers it has, where it says so."""

    scheme: str
    path: str
    query: str
    request_id: str
    if_none_match: str | None

    @property
    def address(self) -> tuple[str, str, str]:
        """What it asks for."""
        return self.scheme, self.path, self.query


class Bare(NamedTuple):
    """Any other request without a body: what WSGI has of its head, as gunicorn would say it."""

    environ: dict[str, Any]


def recognise(head: bytes, hops: int, identify: Callable[[str], str]) -> Plain | Bare | None:
    """The plain or bare request that `head` is, behind `hops` trusted proxies; None where it may be anything else.

    `identify` makes its id of the one that it names, which may be none.
    """
    found = HEAD.fullmatch(head) if len(head) <= LONGEST else None
    if found is None:
        return None
    method, path, query, lines = found.groups()
    named = [(name.lower(), value.strip()) for name, value in LINE.findall(lines)]
    fields = dict(named)
    if len(fields) < len(named) or not FRAMING.isdisjoint(fields) or not HOST.fullmatch(fields.get(b"host", b"")):
        return None
    if fields.get(b"connection", b"keep-alive").lower() != b"keep-alive":
        return None
    place = path.decode("ascii"), (query or b"").decode("ascii")
    scheme = _scheme(fields.get(b"x-forwarded-proto"), hops)
    has = fields[b"if-none-match"].decode("ascii") if b"if-none-match" in fields else None
    if method == b"GET" and PERSONAL.isdisjoint(fields) and scheme is not None and are_tags(has):
        request_id = identify(fields.get(b"x-request-id", b"").decode("ascii"))
        return Plain(scheme, *place, request_id, has)
    if fields.get(b"content-length", b"0") != b"0":
        return None
    target = head[len(method) + 1 : head.index(b" HTTP/1.1\r\n")].decode("ascii")
    return Bare({
        **{_key(name): value.decode("ascii") for name, value in named},
        "REQUEST_METHOD": method.decode("ascii"), "RAW_URI": target, "SCRIPT_NAME": "", "PATH_INFO": place[0],
        "QUERY_STRING": place[1], "SERVER_PROTOCOL": "HTTP/1.1", "wsgi.url_scheme": "http", "wsgi.input": BytesIO(),
    })  # fmt: skip


def are_tags(if_none_match: str | None) -> bool:
    """Whether it says nothing, or what it may."""
    return if_none_match is None or TAGS.fullmatch(if_none_match) is not None


@lru_cache(maxsize=200)
def _key(name: bytes) -> str:
    """What WSGI calls a header."""
    key = name.decode("ascii").upper().replace("-", "_")
    return key if key in {"CONTENT_TYPE", "CONTENT_LENGTH"} else f"HTTP_{key}"


def _scheme(forwarded: bytes | None, hops: int) -> str | None:
    """The scheme of the address: a single trusted proxy's to say; None where it takes more to tell."""
    if hops == 0 or (hops == 1 and forwarded is None):
        return "http"
    return SCHEMES.get(forwarded or b"") if hops == 1 else None
