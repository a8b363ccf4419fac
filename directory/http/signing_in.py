"""What the routes that sign users in and out share: their answers, and which ways to sign in the site has."""

from collections.abc import Callable
from typing import Any, TypeVar

from flask import Response, current_app

from directory.db.transactions import transaction
from directory.errors import RegistrationRefused
from directory.http import languages
from directory.http.authentication import give_cookie, language_cookie, take_cookie
from directory.http.endpoint import as_response
from directory.http.password_checks import are_on
from directory.http.receivers import configured_mail_server
from directory.services.identity import Caller
from directory.services.site import Site

T = TypeVar("T")


def signed_in(view: Any, user: Any, secret: str) -> Response:
    """The answer of a view to a user who has signed in, with the session's cookie."""
    response = as_response(view.operation.render(user))
    give_session(response, secret, user.language)
    return response


def give_session(response: Response, secret: str, language: str | None) -> None:
    """Set the session cookie, and have pages speak the language of the account, in this browser, too."""
    give_cookie(response, secret)
    site = languages.of_app()
    if site.several and (tag := site.known(language)):
        response.headers.add("Set-Cookie", language_cookie(tag))


def signed_out(by: Caller) -> Response:
    """The empty answer to a caller whose session has ended: a browser forgets its cookie.

    A token needs no cookie: one that came with it may be another user's, and stays.
    """
    response = Response(status=204)
    del response.headers["Content-Type"]
    if by.session_id is not None:
        take_cookie(response)
    return response


def registration_open() -> bool:
    """Whether accounts are opened by a password: with SIGNUP_DOMAINS only if a link can confirm their addresses."""
    can_confirm = not current_app.config["SIGNUP_DOMAINS"] or configured_mail_server() is not None
    return bool(current_app.config["REGISTRATION_OPEN"]) and are_on() and can_confirm


def password_reset() -> bool:
    """Whether a forgotten password can be reset by mail."""
    return are_on() and configured_mail_server() is not None


def has_passkeys() -> bool:
    """Whether the site has passkeys: they are bound to a host, which no Host header may name in production."""
    site: Site = current_app.extensions["site"]
    has_host = bool(site.url) or current_app.config["APP_ENV"] != "production"
    return has_host and "passkeys" in current_app.extensions["extras_on"]


def providers() -> list[dict[str, str]]:
    """The names and labels of the providers by which users sign in."""
    configured = current_app.extensions.get("providers", {})  # an extra sets them
    return [{"name": one.name, "label": one.label} for one in configured.values()]


def registering(work: Callable[[], T]) -> T:
    """Run `work` in a transaction. What a rule refuses is counted for the rule in another one, and raised again."""
    try:
        return transaction(work)
    except RegistrationRefused as refused:
        record = refused.verdict.record
        transaction(lambda: record(None))
        raise
