"""Refuses writes that another site's page caused (CSRF), and those meant for another account than the caller's."""

from typing import Any
from urllib.parse import urlsplit

from flask import current_app
from werkzeug.wsgi import get_host

from directory.db.transactions import require_writable
from directory.errors import CrossSiteRequest, OtherUser
from directory.http import cors
from directory.http.authentication import bearer_of, cookie_of, viewer
from directory.http.exchange import Exchange
from directory.services.identity import Caller

EXPECTED_USER = "X-Expected-User"  # the account that a page shows: another tab may have changed the session
_EXPECTED_USER = "HTTP_X_EXPECTED_USER"
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def check(exchange: Exchange) -> None:
    """Refuse a write in read-only mode, one that another site's page caused, and one meant for another account.

    This is checked before a password is hashed. The caller is looked up only if the write names an account. Raises
    ReadOnly, CrossSiteRequest, OtherUser.
    """
    require_writable()
    if is_cross_site(exchange.environ):
        raise CrossSiteRequest
    if (expected := exchange.environ.get(_EXPECTED_USER)) is not None:
        refuse_other_user(expected)


def is_cross_site(environ: dict[str, Any]) -> bool:
    """Whether another site's page caused the write with this WSGI environment.

    Fetch Metadata decides, or Origin if the browser does not send it: older ones, and all of them over http except to
    this machine. SITE_URL counts as this site, because a proxy may pass on another Host. A request with a bearer token
    passes, because a page of another site cannot add one.
    """
    if bearer_of(environ) is not None:
        return False
    site, origin = environ.get("HTTP_SEC_FETCH_SITE"), environ.get("HTTP_ORIGIN")
    if site is not None:
        return not (site in {"same-origin", "none"} or cors.is_trusted(origin))
    if origin is not None:
        return not (cors.is_trusted(origin) or _is_own(origin, environ))
    return cookie_of(environ, current_app.config["COOKIE_NAME"]) is not None


def _is_own(origin: str, environ: dict[str, Any]) -> bool:
    """Whether the origin is SITE_URL or this host, whose scheme is ignored, because a proxy may terminate TLS."""
    if origin and origin == current_app.config["SITE_URL"]:
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return bool(parts.netloc) and _host(parts.scheme, parts.netloc) == _host(parts.scheme, get_host(environ))


def _host(scheme: str, netloc: str) -> str:
    return netloc.lower().removesuffix(DEFAULT_PORTS.get(scheme, ""))


def refuse_other_user(expected: str | None) -> None:
    """Raise OtherUser for a write that is meant for another account. If the session has ended, the route refuses."""
    if expected is not None and is_other(expected, viewer()):
        raise OtherUser


def is_other(expected: str | None, caller: Caller | None) -> bool:
    """Whether an account is expected and there is a caller, who has another one."""
    return expected is not None and caller is not None and expected.strip() != str(caller.id)
