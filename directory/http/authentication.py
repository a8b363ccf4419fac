"""Identifies the caller by session cookie or bearer token, as Flask-Login's request loader, and sets the cookies."""

import logging
from typing import Any

from flask import Flask, Request, Response, current_app, request
from flask_login import current_user
from sqlalchemy.exc import SQLAlchemyError
from werkzeug.http import dump_cookie
from werkzeug.sansio.http import parse_cookie  # the parser of Flask's requests, which accepts any bytes

from directory.db.transactions import writing
from directory.errors import Unauthenticated, Unavailable
from directory.extensions import login_manager
from directory.http.converters import hookless
from directory.http.exchange import Exchange, current
from directory.language.messages import _
from directory.services import permissions
from directory.services.accounts import last_uses, sessions
from directory.services.identity import Caller

log = logging.getLogger(__name__)
COOKIE_SECONDS = int(sessions.LIFETIME.total_seconds())
LANGUAGE_COOKIE = "lang"


def init_app(app: Flask) -> None:
    """Bind Flask-Login, and name the cookie: `__Host-` keeps it to this host and to TLS outside development."""
    secure = app.config["APP_ENV"] != "development"
    app.config |= {"COOKIE_NAME": "__Host-directory" if secure else "directory", "COOKIE_SECURE": secure}
    with hookless(app):
        login_manager.init_app(app, add_context_processor=False)  # it would look up the caller for every template
    login_manager.request_loader(load)


def bearer_of(environ: dict[str, Any]) -> str | None:
    """The bearer token in a WSGI environment; None without an Authorization of that scheme."""
    authorization: str = environ.get("HTTP_AUTHORIZATION", "")
    for credentials in authorization.split(","):  # servers join repeated headers by commas
        scheme, _, token = credentials.strip().partition(" ")
        if scheme.lower() == "bearer":
            return token.strip()
    return None


def cookie_of(environ: dict[str, Any], name: str) -> str | None:
    """The value of a cookie in a WSGI environment."""
    header = environ.get("HTTP_COOKIE")
    return parse_cookie(header).get(name) if header else None


def credential_in(environ: dict[str, Any], cookie_name: str) -> sessions.Credential | None:
    """The caller's credential: the bearer token if there is one, otherwise the session cookie; None without either."""
    token = bearer_of(environ)
    if token is not None:
        return sessions.of_token(token)
    secret = cookie_of(environ, cookie_name)
    return sessions.of_cookie(secret) if secret else None


def load(request: Request) -> Caller | None:
    """The caller; None if anonymous or if the session has ended. Raises Unauthenticated for a bad token."""
    credential = credential_in(request.environ, current_app.config["COOKIE_NAME"])
    known = None if credential is None else sessions.caller_of(credential)
    if known is None:
        if bearer_of(request.environ) is not None:
            raise Unauthenticated(_("The bearer token is unknown, expired or revoked."))
        return None
    caller, is_due = known
    if is_due:
        record_uses([caller])
    return permissions.as_allowed(caller, current_app.config)


def record_uses(callers: list[Caller]) -> None:
    """Record that the callers' sessions and tokens are in use now, in one transaction, except in read-only mode.

    A busy or read-only database does not fail the requests.
    """
    if not callers or current_app.config["READ_ONLY"]:
        return
    try:
        with writing(wait=False, single=True):
            last_uses.record(callers)
    except (SQLAlchemyError, Unavailable) as error:
        log.info("last use not recorded", extra={"reason": type(error).__name__})


def viewer(exchange: Exchange | None = None) -> Caller | None:
    """The caller of a request, the current one unless it is given; None if anonymous."""
    exchange = current() if exchange is None else exchange
    if not exchange.is_identified:
        user: Any = current_user._get_current_object()
        exchange.identify(user if isinstance(user, Caller) else None)
    return exchange.caller


def caller(exchange: Exchange | None = None) -> Caller:
    """The caller that the check of access found, as `viewer` does. Raises Unauthenticated, EmailNotVerified."""
    exchange = current() if exchange is None else exchange
    if exchange.person is None:
        if exchange.caller is not None and hasattr(exchange.view, "for_unconfirmed"):
            return exchange.caller
        exchange.person = permissions.require_person(exchange.caller)
    return exchange.person


def become(signed: Response) -> None:
    """Have the rest of this request see the account that an answer signs in."""
    secret = parse_cookie(signed.headers["Set-Cookie"])[current_app.config["COOKIE_NAME"]]
    known = sessions.caller_of(sessions.of_cookie(secret))
    current().identify(known and permissions.as_allowed(known[0], current_app.config))


def give_cookie(response: Response, secret: str) -> None:
    """Set the session cookie, for the longest lifetime of a session."""
    response.set_cookie(current_app.config["COOKIE_NAME"], secret, max_age=COOKIE_SECONDS, **cookie_attributes())


def take_cookie(response: Response) -> None:
    """Delete the session cookie."""
    response.delete_cookie(current_app.config["COOKIE_NAME"], **cookie_attributes())


def cookie_attributes() -> dict[str, Any]:
    """The attributes of our cookies: only for this host, not for scripts, not sent with requests of other sites."""
    return {"path": "/", "httponly": True, "samesite": "Lax", "secure": current_app.config["COOKIE_SECURE"]}


LANGUAGE_SECONDS = 365 * 24 * 3600


def language_cookie(tag: str) -> str:
    """The cookie that names the language of pages. It names no account."""
    return dump_cookie(LANGUAGE_COOKIE, tag, max_age=LANGUAGE_SECONDS, **cookie_attributes())


VOTE_SECONDS = 30 * 60  # from the press of a vote's button to the end of signing in or up


def vote_cookie(project_id: int | None) -> dict[str, str]:
    """The header of an answer to a person who pressed the button of a vote without being signed in; None takes it away.

    The cookie says that this browser has pressed the button, because only the answer to the button sets it.
    """
    value, seconds = ("", 0) if project_id is None else (str(project_id), VOTE_SECONDS)
    return {"Set-Cookie": dump_cookie(_vote_cookie(), value, max_age=seconds, **cookie_attributes())}


def pressed_vote() -> int | None:
    """The project whose vote this browser has pressed the button of, and is not counted yet."""
    value = request.cookies.get(_vote_cookie(), "")
    return int(value) if value.isascii() and value.isdigit() and len(value) < 20 else None


def _vote_cookie() -> str:
    return f"{current_app.config['COOKIE_NAME']}-vote"
