"""Signing in, up and out: forms over the API's own routes."""

from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from flask import Response, current_app, request
from werkzeug.exceptions import HTTPException

from directory.api import auth
from directory.errors import DirectoryError, Invalid
from directory.http import languages, receivers
from directory.http.access import needs_verified, public
from directory.http.authentication import become, viewer
from directory.http.exchange import current
from directory.http.request_body import parse_json
from directory.http.signing_in import providers, registration_open
from directory.http.validation import KEPT
from directory.language.messages import _
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows, with_cookies
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, address_with, bp, page_of, said_at, show, with_page
from directory.pages.sign_in_form import accepted, is_texts, next_page, sign_in_form

AGAIN = _("What you want to do needs a session that was opened in the last ten minutes. Sign in again to go on.")
FAILED = _("Signing in did not succeed. Try again.")


def _kept_form(to: str, signed: Response) -> Response | None:
    """The form at `to` that was sent without a session, with what was typed; None if there was none."""
    kept = current().aside.get(KEPT)
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


@bp.get("/sign-in")
@public
@page_of("sign-in", "reason", "again", "next")
def sign_in_page(query: dict[str, str]) -> Any:
    """Show the form that signs in. A signed-in caller is sent on, except with `again`."""
    if "sign-in" in query:
        return sign_in_form(Form(problem=said_at("sign_in").get(query.get("reason", ""), ("", FAILED))[1]), query)
    if "again" in query:
        return sign_in_form(query=query, reason=AGAIN)
    return see_other(next_page(query)) if viewer() else sign_in_form(query=query)


THIS_MACHINE = {"localhost", "127.0.0.1", "::1"}  # browsers keep a Secure cookie here over http too
NOT_HTTPS = _(
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
    return _kept_form(next_page(query), signed) or see_other(next_page(query), signed)


def sign_up_form(form: Form = EMPTY, query: dict[str, str] | None = None, **_path: Any) -> PageAnswer:
    """The form that opens an account."""
    to = next_page(query)
    head = Head(_("Create an account"), indexed=False)
    by_provider = current_app.config["REGISTRATION_OPEN"] and bool(providers())
    is_open = registration_open()
    facts: dict[str, Any] = {"is_open": is_open, "by_provider": by_provider, "endings": accepted()}
    return show("sign_up.html", head, here=to, form=form, next=to, **facts)


@bp.get("/sign-up")
@public
@page_of("next")
def sign_up_page(query: dict[str, str]) -> Any:
    """Show the form that opens an account. A signed-in caller is sent on."""
    return see_other(next_page(query)) if viewer() else sign_up_form(query=query)


@bp.post("/sign-up")
@public
@shows(sign_up_form)
@same_as(auth.register)
def sign_up(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Open an account, sign in, and go on to `next`; first, where mail is sent, to the page that says so.

    A vote that needs no confirmed address is counted at once: its page says so of the mail.
    """
    _require_https()
    to = next_page(query)
    arguments = {
        "next_path": to if to != "/" else None,
        "language": languages.of_visitor(current().query),
    }
    signed = auth.register.view(body=body, **arguments)  # type: ignore[attr-defined]
    votes = to.startswith("/voted/") and not (needs_verified("vote") or current_app.config["SIGNUP_DOMAINS"])
    if receivers.configured_mail_server() and not votes:
        to = address_with("/verify", sent=1, next=to if to != "/" else "")
    return see_other(to, signed)


@bp.post("/sign-out")
@public
@same_as(auth.logout)
def sign_out(query: dict[str, str]) -> Any:
    """Sign out, and go to the directory; also where the session has ended already."""
    return see_other("/", auth.logout.view() if viewer() else None)  # type: ignore[attr-defined]
