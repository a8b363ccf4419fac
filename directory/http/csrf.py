"""CSRF: a write that another site's page caused is refused."""

from urllib.parse import urlsplit

from flask import request

from directory.errors import CrossSiteRequest
from directory.http import cors
from directory.http.authentication import bearer, cookie

DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def refuse_cross_site() -> None:
    """Raise CrossSiteRequest where another site's page caused this write.

    Fetch Metadata tells, and Origin where a browser sends none. With a bearer token the request passes, because no page
    of another site can add one.
    """
    if bearer(request) is not None:
        return
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        passes = site in {"same-origin", "none"} or cors.is_trusted(origin)
    elif origin is not None:
        passes = cors.is_trusted(origin) or _is_own(origin)
    else:
        passes = cookie(request) is None
    if not passes:
        raise CrossSiteRequest


def _is_own(origin: str) -> bool:
    """Whether the origin is this host. The scheme is left out: a proxy may end TLS before us."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return bool(parts.netloc) and _host(parts.scheme, parts.netloc) == _host(parts.scheme, request.host)


def _host(scheme: str, netloc: str) -> str:
    return netloc.lower().removesuffix(DEFAULT_PORTS.get(scheme, ""))
