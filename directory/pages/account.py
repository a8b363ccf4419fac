"""The page of a member's account: small forms over the API's own routes, each with its own outcome at its place."""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

from flask import Response, current_app, request

from directory.api import account_deletion, auth, recovery
from directory.api.schemas.accounts import DeletionInput, Email, Secret, Username
from directory.db.transactions import transaction
from directory.errors import NotFound
from directory.http import account_limits
from directory.http.access import for_unconfirmed, is_closed, login_required, public
from directory.http.authentication import caller
from directory.http.endpoint import operation
from directory.http.exchange import current
from directory.http.fields import Flag, Line, Strict, Word
from directory.http.password_checks import are_on
from directory.language.messages import _
from directory.models import now
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows, with_cookies
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, address_with, bp, page_of, said_at, show, slot_values, with_page
from directory.pages.sign_in_form import again, asks_to_sign_in
from directory.services.accounts import accounts, api_tokens
from directory.services.accounts import sessions as credentials

HERE = "/account"
NEVER = "never"
DAYS = (
    (NEVER, _("Never")),
    ("30", _("In 30 days")),
    ("90", _("In 90 days")),
    ("365", _("In a year")),
)  # until a token expires
# What the page says after a form was accepted, and the section that says it.
SAID = {
    "username": ("profile", _("Your username is changed.")),
    "email": ("profile", _("Your e-mail address is saved.")),
    "email-link": ("profile", _("A link is on its way to the new address. The address is used once you confirm it.")),
    "mail-sent": ("mail", _("The link is on its way.")),
    "notices": ("mail", _("Saved.")),
    "password": ("password", _("Your password is changed. Your other sessions are signed out.")),
    "password-tokens": (
        "password",
        _("Your password is changed. Your other sessions are signed out, and your tokens are revoked."),
    ),
    "session-ended": ("sessions", _("The session is signed out.")),
    "sessions-ended": ("sessions", _("All other sessions are signed out.")),
    "token-revoked": ("tokens", _("The token is revoked.")),
}
LEFT = "/account/deleted"
NOT_SURE = _("Please confirm this.")
GONE = _("It is gone already. The list below is up to date.")

PROGRAMS = (
    ("Edge", r"Edg/"), ("Opera", r"OPR/"), ("Samsung Internet", r"SamsungBrowser/"), ("Firefox", r"Firefox/|FxiOS/"),
    ("Chrome", r"HeadlessChrome/|Chrome/|CriOS/|Chromium/"), ("Safari", r"Safari/"), ("curl", r"^curl/"),
    ("Python requests", r"^python-requests/"),
)  # fmt: skip
SYSTEMS = (
    ("Android", r"Android"), ("iOS", r"iPhone|iPad"), ("Windows", r"Windows"), ("macOS", r"Mac OS X"),
    ("ChromeOS", r"CrOS"), ("Linux", r"Linux"),
)  # fmt: skip


def agent(header: str) -> str:
    """The program and the system that a User-Agent names, in words; empty if it names none."""
    program = _named(PROGRAMS, header) or re.split(r"[/\s(]", header)[0][:40]
    return " · ".join(filter(None, (program, _named(SYSTEMS, header))))


def _named(names: tuple[tuple[str, str], ...], header: str) -> str:
    return next((name for name, pattern in names if re.search(pattern, header)), "")


def account_form(at: str = "", form: Form = EMPTY, done: str = "", made: Any = None, **_path: Any) -> PageAnswer:
    """The page. It can show the refused form of the section `at`, the outcome `done`, and what was `made`.

    That is shown only once, such as the `token` of a new token.
    """
    if form.code == "unauthenticated":
        return again(form)
    by = caller()
    place, said = _said().get(done, ("", ""))
    if form.code == "not_found":
        form = replace(form, problem=GONE)
    if "sure" in form.errors:
        form = replace(form, errors={**form.errors, "sure": NOT_SURE})
    user, has_passwords = accounts.get(by.id), are_on()
    page, headers = show(
        "account.html", Head(_("Your account"), indexed=False), here=HERE, entry="forms", user=user, at=at,
        has_passwords=has_passwords, has_password=has_passwords and user.password_hash,
        form=form, empty=EMPTY, place=place, said=said, made=made, days=DAYS, agent=agent,
        stored=account_limits.stored_today(by.id), sessions=credentials.listed(by), tokens=api_tokens.listed(by),
        **slot_values("account_ways"), **slot_values("account"), **slot_values("account_feed"),
    )  # fmt: skip
    return page, {**headers, **NO_STORE}


def at(section: str) -> Callable[..., PageAnswer]:
    """The page with a refused form of a section."""
    return partial(account_form, section)


def outcome(name: str) -> Response:
    """Redirect to the section of the page that shows the outcome."""
    return see_other(f"{address_with(HERE, done=name)}#{_said()[name][0]}")


def _said() -> dict[str, tuple[str, Any]]:
    return SAID | said_at("account_ways") | said_at("account") | said_at("account_feed")


@bp.get(HERE)
@asks_to_sign_in
@login_required
@for_unconfirmed
@operation(tier="read", page=True, parameters=True)
def account_page(query: dict[str, str]) -> PageAnswer:
    """Show the caller's account."""
    return account_form(done=query.get("done", ""))


@bp.get(LEFT)
@public
@page_of()
def left_page(query: dict[str, str]) -> PageAnswer:
    """Say to a person who has no account any more that it is deleted."""
    return left()


def left() -> PageAnswer:
    """The page that says that an account is deleted."""
    return show("left.html", Head(_("Your account is deleted"), indexed=False), entry="forms")


@bp.get("/account/<path:form>")
@public
@operation(tier="read", page=True)
def form_address(form: str) -> Response:
    """Lead from the address of a form, where a reload or a sign-in may end, to the page. Raises NotFound."""
    adapter = current_app.create_url_adapter(request)
    if adapter is None or "POST" not in adapter.allowed_methods():
        raise NotFound
    return see_other(HERE)


class UsernameForm(Strict):
    """Another username."""

    username = Username(required=True)


@bp.post("/account/username")
@shows(at("username"))
@login_required
@same_as(auth.change, UsernameForm())
def choose_username(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Choose a username, which is possible once after a provider has opened the account."""
    auth.change.view(body=body)  # type: ignore[attr-defined]
    return outcome("username")


class EmailForm(Strict):
    """An address, and the password that a new one needs."""

    email = Email(required=True)
    current_password = Secret()


@bp.post("/account/email")
@shows(at("email"))
@login_required
@for_unconfirmed
@same_as(auth.change, EmailForm())
def change_email(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Change the address. Where mail is sent, it is used once it is confirmed."""
    changed = auth.change.view(body=body)  # type: ignore[attr-defined]
    return outcome("email" if changed["email"] == body["email"] else "email-link")


@bp.post("/account/verification")
@shows(at("mail"))
@login_required
@for_unconfirmed
@same_as(recovery.send_verification)
def send_verification(query: dict[str, str]) -> Any:
    """Mail the link that confirms the address again."""
    recovery.send_verification.view(next_path=HERE)  # type: ignore[attr-defined]
    return outcome("mail-sent")


class NoticesForm(Strict):
    """Whether decisions are mailed; an empty box is absent."""

    notify = Flag(load_default=False)


@bp.post("/account/notices")
@shows(at("mail"))
@login_required
@same_as(auth.change, NoticesForm())
def change_notices(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Switch mail about decisions on or off."""
    auth.change.view(body=body)  # type: ignore[attr-defined]
    return outcome("notices")


class PasswordForm(Strict):
    """A new password, and the present one."""

    current_password = Secret()
    password = Secret(required=True)
    revoke_tokens = Flag()


@bp.post("/account/password")
@shows(at("password"))
@login_required
@same_as(auth.change, PasswordForm())
def change_password(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Change the password. It ends all other sessions."""
    auth.change.view(body=body)  # type: ignore[attr-defined]
    return outcome("password-tokens" if body.get("revoke_tokens") else "password")


@bp.post("/account/sessions/<id:session_id>/end")
@shows(at("sessions"))
@login_required
@same_as(auth.end_session)
def end_session(session_id: int, query: dict[str, str]) -> Any:
    """Sign one browser out."""
    auth.end_session.view(session_id=session_id)  # type: ignore[attr-defined]
    return outcome("session-ended")


@bp.post("/account/sessions/end")
@shows(at("sessions"))
@login_required
@same_as(auth.end_other_sessions)
def end_other_sessions(query: dict[str, str]) -> Any:
    """Sign all other browsers out."""
    auth.end_other_sessions.view()  # type: ignore[attr-defined]
    return outcome("sessions-ended")


class TokenForm(Strict):
    """The name of a new token, and the days until it expires."""

    name = Line(1, 100, required=True)
    days = Word(tuple(days for days, _ in DAYS), load_default=NEVER)


@bp.post("/account/tokens")
@shows(at("token"))
@login_required
@replace(same_as(auth.issue_token, TokenForm()), transactional=False)
def create_token(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Create a token, and show its text on this answer alone: no address and no store of the browser has it."""
    expires_at = None if body["days"] == NEVER else now() + timedelta(days=int(body["days"]))
    values = {"name": body["name"], "expires_at": expires_at}
    token = transaction(lambda: auth.issue_token.view(body=values))  # type: ignore[attr-defined]
    return account_form(made=token)  # after the transaction: a page is not rendered within one


@bp.post("/account/tokens/<id:token_id>/revoke")
@shows(at("tokens"))
@login_required
@same_as(auth.revoke_token)
def revoke_token(token_id: int, query: dict[str, str]) -> Any:
    """Revoke a token."""
    auth.revoke_token.view(token_id=token_id)  # type: ignore[attr-defined]
    return outcome("token-revoked")


class DeletionForm(DeletionInput):
    """The password, and the box that says that the member is sure."""

    sure = Flag(required=True)


@bp.post("/account/delete")
@shows(at("leave"))
@login_required
@for_unconfirmed
@same_as(account_deletion.delete, DeletionForm())
def delete_account(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Delete the account."""
    values = {name: value for name, value in body.items() if name != "sure"}
    signed_out = account_deletion.delete.view(body=values)  # type: ignore[attr-defined]
    if not is_closed():
        return see_other(LEFT, signed_out)
    current().identify(None)  # who has left may open no page of a directory that only members read, so it is shown here
    return with_cookies(with_page(Response(headers=NO_STORE), left()), signed_out)
