"""The requests that the cache can answer, and the key under which it stores the response.

A cacheable request is a GET that says nothing about its caller but a credential. Whatever is doubtful is not
cacheable: the application answers it.
"""

import re
from typing import Any, NamedTuple

from directory.http.cache_tags import CREDENTIALS
from directory.http.hooks import request_id

# Request headers that may change a response, beside the credentials. With any of them the application answers.
UNCACHEABLE = ("Origin", "If-Match", "Range")
_CREDENTIALS, _UNCACHEABLE = (
    tuple(f"HTTP_{name.upper().replace('-', '_')}" for name in names) for names in (CREDENTIALS, UNCACHEABLE)
)
# The grammar of If-None-Match, RFC 9110 section 13.1.2. Implementations differ in how they read anything else.
_ETAG = r'(?:W/)?"[!#-~]*"'
_ETAG_LIST = re.compile(rf"\*|{_ETAG}(?:[ \t]*,[ \t]*{_ETAG})*")
# The Accept headers by which an address of a page could ask for JSON. The API has JSON alone, whatever is asked for.
_ACCEPTS_JSON = re.compile(r"json|application/\*", re.IGNORECASE)
_OPAQUE_TAG = re.compile(r'"[!#-~]*"')


class CacheableRequest(NamedTuple):
    """A read without its credentials: its address, its id, and the ETags that the caller has, if it sent any."""

    scheme: str
    path: str
    query: str
    request_id: str
    if_none_match: str | None

    @property
    def key(self) -> tuple[str, str, str]:
        """The key of its response."""
        return self.scheme, self.path, self.query

    def matches(self, etag: str) -> bool:
        """Whether the caller has the response with this ETag: weak comparison, RFC 9110 section 13.1.2."""
        if self.if_none_match is None:
            return False
        return self.if_none_match == "*" or etag in _OPAQUE_TAG.findall(self.if_none_match)


def has_credentials(environ: dict[str, Any]) -> bool:
    """Whether a request has a header for credentials."""
    return any(name in environ for name in _CREDENTIALS)


def read_from(environ: dict[str, Any]) -> CacheableRequest | None:
    """The read in a WSGI environment, without its credentials; None where the application has to answer it."""
    if environ["REQUEST_METHOD"] != "GET" or any(name in environ for name in _UNCACHEABLE):
        return None
    path, query = environ["PATH_INFO"], environ.get("QUERY_STRING", "")
    if_none_match = environ.get("HTTP_IF_NONE_MATCH")
    if not is_etag_list(if_none_match) or not has_one_form(path, environ.get("HTTP_ACCEPT", "")):
        return None
    identity = request_id(environ.get("HTTP_X_REQUEST_ID", ""))
    return CacheableRequest(environ["wsgi.url_scheme"], path, query, identity, if_none_match)


def has_one_form(path: str, accept: str) -> bool:
    """Whether `path` has one media type for this Accept header."""
    return path.startswith("/api/") or _ACCEPTS_JSON.search(accept) is None


def is_etag_list(if_none_match: str | None) -> bool:
    """Whether the header is absent or follows its grammar."""
    return if_none_match is None or _ETAG_LIST.fullmatch(if_none_match) is not None
