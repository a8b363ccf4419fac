"""The client of a request: its address, by which anonymous requests are counted and logged, and what it accepts."""

import re
from functools import lru_cache
from ipaddress import IPv6Address, ip_address, ip_network

from flask import request
from werkzeug.datastructures import Accept, MIMEAccept
from werkzeug.http import parse_accept_header

from directory.http.exchange import current

# Some proxies forward an address with its port. Each connection has another port, and would be counted separately.
WITH_PORT = re.compile(r"\[([^]]*)\](?::[0-9]*)?|([^:]+):[0-9]*")
TEXTS = re.compile(r"text/|application/(?:[\w.-]+\+)?(?:json|xml)\b")  # the media types that compression makes smaller


def client_address() -> str:
    """The caller's address; for IPv6 its /64, because that is what one customer gets."""
    return shortened(current().environ.get("REMOTE_ADDR") or "unknown")


def shortened(text: str) -> str:
    """An address without its port; of IPv6 its /64."""
    if with_port := WITH_PORT.fullmatch(text):
        text = with_port[1] or with_port[2]
    try:
        parsed = ip_address(text)
    except ValueError:
        return text
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(ip_network((parsed, 64), strict=False))
    return str(getattr(parsed, "ipv4_mapped", None) or parsed)


def user_agent() -> str:
    """The printable characters of the browser's User-Agent."""
    return "".join(c for c in request.user_agent.string if c.isprintable())


def prefers_json() -> bool:
    """Whether the client is a program that asks for JSON and not for a page."""
    accepts = parse_accept_header(current().environ.get("HTTP_ACCEPT"), MIMEAccept)
    return accepts.best_match(("text/html", "application/json")) == "application/json"


@lru_cache(maxsize=64)
def takes_gzip(accepts: str) -> bool:
    """Whether a client with this Accept-Encoding accepts gzip, and does not prefer the plain answer (RFC 9110)."""
    qualities: dict[str, float] = {}
    for coding, quality in parse_accept_header(accepts, Accept):
        qualities.setdefault(coding.lower(), quality)
    others = qualities.get("*", 0.0)
    gzip = qualities.get("gzip", others)
    return gzip > 0 and gzip >= qualities.get("identity", others)
