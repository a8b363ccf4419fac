"""Recognises, by method, path and headers, the requests that the cache may answer; the application answers others."""

import re
import time
from collections.abc import Iterable
from typing import Any, NamedTuple

from directory.http.authentication import credential_in
from directory.http.cache_policy import CREDENTIALS
from directory.http.exchange import request_id
from directory.http.languages import API, choose, has_language_alone
from directory.language.choice import PLAIN, Languages
from directory.services.accounts.sessions import Credential

# Headers that may change the response, and that the cache does not handle: the application answers such requests.
UNCACHEABLE = ("Origin", "If-Match", "Range")
_CREDENTIALS, _UNCACHEABLE = (
    tuple(f"HTTP_{name.upper().replace('-', '_')}" for name in names) for names in (CREDENTIALS, UNCACHEABLE)
)
# The grammar of If-None-Match, RFC 9110 section 13.1.2. Implementations differ in how they read anything else.
_ETAG = r'(?:W/)?"[!#-~]*"'
_ETAG_LIST = re.compile(rf"\*|{_ETAG}(?:[ \t]*,[ \t]*{_ETAG})*")
# Accept headers that may make a page's address answer with JSON. Answers of the API are always JSON.
_ACCEPTS_JSON = re.compile(r"json|application/\*", re.IGNORECASE)
SPOKEN = {"/api/projects/facets"}  # the data whose labels are in the language of the answer
_OPAQUE_TAG = re.compile(r'"[!#-~]*"')
# For so many seconds the application answers a caller whom the cache could not identify; all of them after a failure.
BYPASS_SECONDS, BYPASS_ALL_SECONDS = 1.0, 5.0
BYPASSES_MAX = 1_000  # such callers that are remembered


class Read(NamedTuple):
    """A request that the cache may answer: its address, its id, its conditions, and the caller's credential.

    `language` is the chosen one of the site's languages, empty where the answer depends on none. `accepts` is the
    Accept-Encoding. A HEAD, which only an anonymous caller's can be, gets the GET's answer without the body.
    """

    scheme: str
    path: str
    query: str
    request_id: str
    if_none_match: str | None
    credential: Credential | None = None
    accepts: str = ""
    method: str = "GET"
    language: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """The key of its public response."""
        return self.scheme, self.path, self.query, self.language

    @property
    def address(self) -> tuple[str, str, str]:
        """What it asks for, in whatever language."""
        return self.scheme, self.path, self.query

    def names(self, etag: str) -> bool:
        """Whether the If-None-Match has this ETag in it."""
        return self.if_none_match is not None and etag in _OPAQUE_TAG.findall(self.if_none_match)

    def matches(self, etag: str) -> bool:
        """Whether the caller says that it has the response with this ETag: weak comparison, RFC 9110 section 13.1.2."""
        return self.if_none_match == "*" or self.names(etag)


def read_from(environ: dict[str, Any], cookie_name: str, languages: Languages = PLAIN) -> Read | None:
    """The read in a WSGI environment, of a site in these languages; None where the application has to answer it."""
    method = environ["REQUEST_METHOD"]
    if method not in ("GET", "HEAD") or not environ.keys().isdisjoint(_UNCACHEABLE):
        return None
    path = "/" + environ["PATH_INFO"].lstrip("/")  # as Flask has it, for links of the response contain it
    query = environ.get("QUERY_STRING", "")
    if_none_match = environ.get("HTTP_IF_NONE_MATCH")
    if if_none_match is not None and not _ETAG_LIST.fullmatch(if_none_match):
        return None
    if not path.startswith("/api/") and _ACCEPTS_JSON.search(environ.get("HTTP_ACCEPT", "")):
        return None
    credential = None
    if not environ.keys().isdisjoint(_CREDENTIALS):
        credential = credential_in(environ, cookie_name)
        is_anonymous = credential is None and languages.several and has_language_alone(environ)
        if not is_anonymous and (credential is None or method == "HEAD"):
            return None
    own_id, accepts = request_id(environ.get("HTTP_X_REQUEST_ID", "")), environ.get("HTTP_ACCEPT_ENCODING", "")
    language = ""
    if languages.several and (path in SPOKEN or not path.startswith(API)):
        language = choose(languages, environ, path, query)
    return Read(environ["wsgi.url_scheme"], path, query, own_id, if_none_match, credential, accepts, method, language)


class Bypass:
    """Until when the application answers signed-in callers, all or each of some; all times are of time.monotonic()."""

    def __init__(self) -> None:
        self.all_until = 0.0
        self.until: dict[Credential | None, float] = {}

    def includes(self, credential: Credential | None) -> bool:
        """Whether the application answers the caller for now."""
        now = time.monotonic()
        return now < self.all_until or now < self.until.get(credential, 0.0)

    def add_all(self) -> None:
        """Let the application answer all signed-in callers: the database did not answer the cache in time."""
        self.all_until = time.monotonic() + BYPASS_ALL_SECONDS

    def add(self, unknown: Iterable[Credential | None]) -> None:
        """Let the application answer the next reads of unknown callers: the cache would not identify them again."""
        if len(self.until) >= BYPASSES_MAX:
            self.until.clear()
        self.until |= dict.fromkeys(unknown, time.monotonic() + BYPASS_SECONDS)
