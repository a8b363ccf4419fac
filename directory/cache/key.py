"""What a cached response is found by: an anonymous read, reduced to what its answer depends on."""

import re
from typing import NamedTuple

# A request with any of these headers may get another answer than the next one, so none is answered from the cache.
PERSONAL = ("Authorization", "Cookie", "Origin", "If-Match", "Range")
# What If-None-Match may contain, RFC 9110 section 13.1.2. Servers disagree about what else it contains.
_TAG = r'(?:W/)?"[!#-~]*"'
TAGS = re.compile(rf"\*|{_TAG}(?:[ \t]*,[ \t]*{_TAG})*")
OPAQUE = re.compile(r'"[!#-~]*"')


class CacheableRequest(NamedTuple):
    """An anonymous read: where it goes, its id, and which versions the caller already has, if it says so."""

    scheme: str
    path: str
    query: str
    request_id: str
    if_none_match: str | None

    @property
    def address(self) -> tuple[str, str, str]:
        """The cache key."""
        return self.scheme, self.path, self.query


def is_valid(if_none_match: str | None) -> bool:
    """Whether the header is absent or well formed."""
    return if_none_match is None or TAGS.fullmatch(if_none_match) is not None
