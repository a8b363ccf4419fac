"""Forgotten passwords, mailed links, and mail switched off: forms over the API's own routes.

Links in mail lead to these pages, so they exist without the other pages too (WEB_ENABLED=false, or not built), then in
a plain frame.
"""

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response, request

from directory.api import recovery
from directory.errors import Invalid, SignInExpired
from directory.http import receivers
from directory.http.access import for_unconfirmed, login_required, public
from directory.http.authentication import viewer
from directory.http.client import user_agent
from directory.http.endpoint import Operation, operation
from directory.http.exchange import current
from directory.http.fields import Line, Strict
from directory.http.password_checks import require_passwords
from directory.http.signing_in import give_session
from directory.http.validation import FormBody
from directory.language.messages import _
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows
from directory.pages.head import Head
from directory.pages.layout import MAILED_LINKS, PageAnswer, address_with, explain, own_path, page_of, show
from directory.services.accounts import accounts
from directory.services.sign_in import links as sign_in_links
from directory.services.sign_in import recovery as links

bp = Blueprint(MAILED_LINKS, __name__)
Query = dict[str, str] | None  # None where a form is shown again
# The addresses of these pages contain a secret. So no answer is stored, and browsers send no more of the address than
# its origin, to this site's own files neither: a proxy logs the Referer.
SECRET_ADDRESS = {"Referrer-Policy": "strict-origin"}
token_page = operation(tier="read", page=True, parameters=True)


@bp.after_request
def keep_address(response: Response) -> Response:
    """Explain a problem, and keep the address of each page from the requests that the page makes."""
    response = explain(response)
    if response.mimetype == "text/html":
        response.headers.update(SECRET_ADDRESS)
    return response


class TokenForm(Strict):
    """The token of a mailed link."""

    token = Line(1, 200, required=True)


@bp.get("/forgot")
@public
@page_of("sent")
def forgot_page(query: Query = None, form: Form = EMPTY) -> PageAnswer:
    """Show the form that has a link mailed for a new password. Raises NotFound where no mail is sent, PasswordsOff."""
    require_passwords()
    receivers.mail_server()
    is_sent = "sent" in (query or {})
    return show("forgot.html", Head(_("Forgot your password?"), indexed=False), here="/", form=form, is_sent=is_sent)


@bp.post("/forgot")
@public
@shows(forgot_page)
@same_as(recovery.forgot)
def forgot(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Have a link mailed. The answer is the same for everybody."""
    recovery.forgot.view(body=body)  # type: ignore[attr-defined]
    return see_other("/forgot?sent")


def _next(query: Query) -> str:
    """The page to open afterwards. Without `query`, by the address that a refused form was sent to."""
    return own_path((request.args if query is None else query).get("next"))


def _beyond(query: Query) -> str:
    """The page to open afterwards, unless it is the directory."""
    return next_path if (next_path := _next(query)) != "/" else ""


def _token(query: Query) -> str:
    """The token in the address, or in the form that was refused."""
    return str((query or {}).get("token") or (current().typed or {}).get("token", ""))


def _form_by_token(template: str, title: str, form: Form, query: Query, **facts: Any) -> PageAnswer:
    """A form that a mailed link leads to, with the link's token. Raises NotFound where no mail is sent."""
    receivers.mail_server()
    parameters, token = query or {}, _token(query)
    head = Head(title, indexed=False)
    page, headers = show(template, head, here="/", form=form, token=token, is_done="done" in parameters, **facts)
    return page, {**headers, **NO_STORE}


def _username_of(token: str) -> str | None:
    """The username of the account that a link for a new password opens; None if the link does not work."""
    try:
        return links.owner_of(token).username
    except Invalid:
        return None


@bp.get("/reset")
@public
@token_page
def reset_page(query: Query = None, form: Form = EMPTY) -> PageAnswer:
    """Show the form for a new password. A password manager saves it under the username of the link's account.

    Raises NotFound where no mail is sent, PasswordsOff.
    """
    require_passwords()
    token = _token(query)
    username = _username_of(token) if token else None
    return _form_by_token("reset.html", _("Choose a new password"), form, query, username=username)


@bp.post("/reset")
@public
@shows(reset_page)
@same_as(recovery.reset)
def reset(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Choose a new password. It ends all sessions of the account."""
    recovery.reset.view(body=body)  # type: ignore[attr-defined]
    return see_other("/reset?done")


@bp.get("/verify")
@public
@token_page
def verify_page(query: Query = None, form: Form = EMPTY) -> PageAnswer:
    """Show the button that confirms an e-mail address; a member can have another link mailed.

    To open a link does not use it up.
    """
    by, parameters = viewer(), query or {}
    facts = {
        "account": accounts.get(by.id) if by else None,
        "is_sent": "sent" in parameters,
        "next": _next(query),
    }
    return _form_by_token("verify.html", _("Confirm your e-mail address"), form, query, **facts)


@bp.post("/verify")
@public
@shows(verify_page)
@same_as(recovery.verify)
def verify(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Confirm an e-mail address."""
    recovery.verify.view(body=body)  # type: ignore[attr-defined]
    return see_other(address_with("/verify", done=1, next=_beyond(query)))


@bp.post("/verify/again")
@shows(verify_page)
@login_required
@for_unconfirmed
@same_as(recovery.send_verification)
def verify_again(query: dict[str, str]) -> Any:
    """Mail the link that confirms the caller's e-mail address again."""
    recovery.send_verification.view(next_path=_beyond(query) or None)  # type: ignore[attr-defined]
    return see_other(address_with("/verify", sent=1, next=query.get("next")))


@bp.get("/sign-in/link")
@public
@token_page
def sign_in_link_page(query: Query = None, form: Form = EMPTY) -> PageAnswer:
    """Show the button that signs in by a link of the operator. To open a link does not use it up."""
    token = _token(query)
    try:
        username = sign_in_links.user_of(token).username
    except SignInExpired as error:
        form, username = form if form.problem else replace(form, problem=error.detail), ""
    head = Head(_("Sign in"), indexed=False)
    page, headers = show("sign_in_link.html", head, here="/", form=form, token=token, username=username)
    return page, {**headers, **NO_STORE}


@bp.post("/sign-in/link")
@public
@shows(sign_in_link_page)
@Operation(body=FormBody(TokenForm()), tier="recovery", page=True, parameters=True)
def sign_in_by_link(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Sign in by a link of the operator, which works once."""
    user, secret = sign_in_links.sign_in(body["token"], user_agent=user_agent())
    current().account_id = user.id
    response = see_other("/")
    give_session(response, secret, user.language)
    return response


def mail_off_form(query: Query = None, form: Form = EMPTY) -> PageAnswer:
    """The button that switches mail about decisions off, by the token of the link in such a mail."""
    return _form_by_token("mail_off.html", _("Mail about your projects"), form, query)


@bp.get("/api/auth/notifications/<token>")
@public
@operation(tier="read", page=True)
def mail_off_page(token: str) -> PageAnswer:
    """Show that button to a person who opens the link. Mail programs send a POST to the same address (RFC 8058)."""
    return mail_off_form(query={"token": token})


@bp.get("/mail-off")
@public
@operation(tier="read", page=True)
def mail_off_done() -> PageAnswer:
    """Say that it is done."""
    return mail_off_form(query={"done": ""})


@bp.post("/mail-off")
@public
@shows(mail_off_form)
@same_as(recovery.switch_off, TokenForm())
def mail_off(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Switch mail about decisions off."""
    recovery.switch_off.view(token=body["token"])  # type: ignore[attr-defined]
    return see_other("/mail-off")
