"""Signing in, up and out: forms over the API's own routes."""

import json
from contextlib import suppress
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from flask import Response, current_app, g, request
from werkzeug.exceptions import HTTPException

from directory.api import auth, mail_server, passkeys
from directory.errors import DirectoryError, Invalid, Unauthenticated
from directory.http.access import public
from directory.http.authentication import become, viewer
from directory.http.request_body import parse_json
from directory.http.validation import KEPT
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows, with_cookies
from directory.pages.head import Head
from directory.pages.layout import Answer, address_with, bp, own_address, own_path, page_view, show, with_page

FAILED = "Signing in did not succeed. Try again."
FAILURES = {
    "sign_in_cancelled": "You cancelled signing in. Nothing was changed.",
    "sign_in_again": "Sign in again, and join the provider within ten minutes.",
    "sign_in_expired": "This took too long, or it began in another browser. Try again.",
    "address_taken": "An account has your e-mail address already. Sign in to it by its password, and join the two in "
    "your account.",
    "no_address": "The provider did not tell an e-mail address of yours that can be used, and a new account needs one. "
    "Add an address to your account at the provider, or ask those who run this site: they can name the claim "
    "(email_claim) that has your address.",
    "identity_taken": "This sign-in belongs to another account here already.",
    "account_suspended": "This account is suspended.",
    "registration_closed": "New accounts cannot be created at present.",
    "provider_unavailable": "The provider does not answer at present. Try again shortly.",
    "provider_failed": "The provider gave an answer that makes no sense. Try again later.",
    "sign_in_refused": "The provider's answer was refused. Tell those who run this site.",
    "rate_limited": "Too many tries. Wait a few minutes, and try again.",
    "read_only": "The site takes no changes at present, signing in included. Try again later.",
}


def _next(query: dict[str, str] | None) -> str:
    """The page to open afterwards. Without `query`, by the address that a refused form was sent to."""
    return own_path((request.args if query is None else query).get("next"))


def sign_in_form(form: Form = EMPTY, query: dict[str, str] | None = None, reason: str = "", **_path: Any) -> Answer:
    """The form that signs in."""
    to = _next(query)
    facts = {
        "next": to, "reason": reason, "can_reset": mail_server.configured() is not None,
        "has_passkeys": passkeys.are_on(),
        "providers": current_app.extensions["providers"].values(), "kept": g.get("aside", {}).get(KEPT, ""),
    }  # fmt: skip
    return show("sign_in.html", Head("Sign in", indexed=False), here=to, form=form, **facts)


ENDED = "Your session has ended. Sign in to go on: what you wrote is kept."


def again(form: Form) -> Answer:
    """The form that signs in, for a member's form that was sent after the session had ended.

    It carries what was typed, which is in the member's form again after signing in.
    """
    g.aside[KEPT] = json.dumps(form.values, ensure_ascii=False) if any(form.values.values()) else ""
    return sign_in_form(query={"next": request.path}, reason=ENDED if g.aside[KEPT] else "Sign in to go on.")


def _kept_form(to: str, signed: Response) -> Response | None:
    """The form at `to` that was sent without a session, with what was typed; None if there was none."""
    kept = g.aside.get(KEPT)
    adapter = current_app.create_url_adapter(request)
    if not kept or adapter is None:
        return None
    with suppress(DirectoryError, HTTPException):
        values = parse_json(kept.encode())
        endpoint, path = adapter.match(urlsplit(to).path, method="POST")
        page = getattr(current_app.view_functions[endpoint], "form_page", None)
        if page is not None and is_texts(values):
            become(signed)
            response = Response(headers=NO_STORE)
            return with_page(with_cookies(response, signed), page(form=Form(values), **path))
    return None


def is_texts(values: Any) -> bool:
    """Whether these are the values of a form."""
    return isinstance(values, dict) and all(isinstance(text, str) for text in values.values())


def asks_to_sign_in(view: Any) -> Any:
    """Decorate the view of a member's page: anonymous callers are sent to the page that signs in, and come back."""

    @wraps(view)
    def run(**path: Any) -> Any:
        try:
            return view(**path)
        except Unauthenticated:
            return see_other(address_with("/sign-in", next=own_address()))

    return run


def refused(form: Form, then: str, back: str, reason: str = "Sign in to go on.") -> Answer:
    """Why a button's form was refused, with a way `back`; for a caller who is not signed in, the form that signs in."""
    if form.code == "unauthenticated":
        return sign_in_form(query={"next": then}, reason=reason)
    problem = {"title": form.title, "detail": form.problem or " ".join(form.errors.values()), "code": form.code}
    return show("problem_page.html", Head(form.title, indexed=False), here=back, problem=problem, back=back)


@bp.get("/sign-in")
@public
@page_view
def sign_in_page(query: dict[str, str]) -> Any:
    """Show the form that signs in, and why signing in by a provider failed. A signed-in caller is sent on."""
    if "sign-in" in query:
        return sign_in_form(Form(problem=FAILURES.get(query.get("reason", ""), FAILED)), query)
    return see_other(_next(query)) if viewer() else sign_in_form(query=query)


THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}  # browsers keep a Secure cookie here over http too
NOT_HTTPS = (
    "This address begins with http://, where your browser does not keep the sign-in. Open the site at its https:// "
    "address, and sign in there."
)


def _require_https() -> None:
    """Raise Invalid where the browser would drop the session cookie: at an http address, if the cookie is Secure.

    The browser names the address that it shows in Origin, so it does not matter whether a proxy ends TLS.
    """
    shown = urlsplit(request.headers.get("Origin", ""))
    if current_app.config["COOKIE_SECURE"] and shown.scheme == "http" and shown.hostname not in THIS_MACHINE:
        raise Invalid([{"pointer": "", "detail": NOT_HTTPS}])


@bp.post("/sign-in")
@public
@shows(sign_in_form)
@same_as(auth.login)
def sign_in(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Sign in by username or e-mail address, and go on to `next`."""
    _require_https()
    signed = auth.login.view(body=body)  # type: ignore[attr-defined]
    return _kept_form(_next(query), signed) or see_other(_next(query), signed)


def sign_up_form(form: Form = EMPTY, query: dict[str, str] | None = None, **_path: Any) -> Answer:
    """The form that opens an account."""
    to = _next(query)
    return show("sign_up.html", Head("Create an account", indexed=False), here=to, form=form, next=to)


@bp.get("/sign-up")
@public
@page_view
def sign_up_page(query: dict[str, str]) -> Any:
    """Show the form that opens an account. A signed-in caller is sent on."""
    return see_other(_next(query)) if viewer() else sign_up_form(query=query)


@bp.post("/sign-up")
@public
@shows(sign_up_form)
@same_as(auth.register)
def sign_up(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Open an account, sign in, and go on to `next`; first, where mail is sent, to the page that says so."""
    _require_https()
    to = _next(query)
    signed = auth.register.view(body=body, next_path=to if to != "/" else None)  # type: ignore[attr-defined]
    if mail_server.configured():
        to = address_with("/verify", sent=1, next=to if to != "/" else "")
    return see_other(to, signed)


@bp.post("/sign-out")
@public
@same_as(auth.logout)
def sign_out(query: dict[str, str]) -> Any:
    """Sign out, and go to the directory; also where the session has ended already."""
    return see_other("/", auth.logout.view() if viewer() else None)  # type: ignore[attr-defined]
