"""Content codings: which answers may be compressed, and which clients accept that (RFC 9110, section 12.5.3)."""

import re
from functools import lru_cache

from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

TEXTS = re.compile(r"text/|application/(?:[\w.-]+\+)?(?:json|xml)\b")  # the media types that compression makes smaller


@lru_cache(maxsize=64)
def takes_gzip(accepts: str) -> bool:
    """Whether a client with this Accept-Encoding accepts gzip, and does not prefer the plain answer."""
    qualities: dict[str, float] = {}
    for coding, quality in parse_accept_header(accepts, Accept):
        qualities.setdefault(coding.lower(), quality)
    others = qualities.get("*", 0.0)
    gzip = qualities.get("gzip", others)
    return gzip > 0 and gzip >= qualities.get("identity", others)
