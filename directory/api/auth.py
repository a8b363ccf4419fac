"""Registering, signing in and out, one's account, sessions and tokens. Passwords are hashed outside transactions."""

from contextlib import suppress
from typing import Any

from flask import Blueprint, Response, current_app

from directory.api import mail_server
from directory.api.password_checks import among_few, confirm_password, missing_password
from directory.api.schemas.accounts import (
    AccountChanges,
    LoginInput,
    NewToken,
    RegisterInput,
    SessionList,
    TokenInput,
    TokenList,
    UserOutput,
)
from directory.db.transactions import transaction
from directory.errors import (
    AccountDeleted,
    AccountSuspended,
    Duplicate,
    InvalidCredentials,
    NotFound,
    RegistrationClosed,
)
from directory.http import account_limits
from directory.http.access import login_required, public
from directory.http.authentication import caller, give_cookie, take_cookie
from directory.http.client_address import user_agent
from directory.http.endpoint import documented, operation, respond
from directory.http.validation import Errors, JsonBody
from directory.services.accounts import accounts, recovery, sessions, usernames
from directory.services.accounts.identity import Caller
from directory.services.sign_in.refusals import SignInAgain

bp = Blueprint("auth", __name__, url_prefix="/api/auth")


def _refused_registration(body: dict[str, Any]) -> Errors:
    """The rules that a registration breaks, as far as its fields are valid."""
    username, email = body.get("username"), body.get("email")
    weak = accounts.password_refusals(body.get("password"), username=username, email=email)
    return [*usernames.refusals(username), *weak]


def _bad_changes(body: dict[str, Any]) -> Errors:
    """The rules that changes to the caller's account break, except a wrong current password."""
    user = accounts.get(caller().id)
    email = body.get("email", user.email)
    refused = accounts.username_refusals(body.get("username"), user)
    username = body.get("username", user.username)
    refused += accounts.password_refusals(body.get("password"), username=username, email=email)
    if "password" in body:
        refused += missing_password(body, "Give both password and current_password.")
    elif mail_server.confirming(body.get("email"), user) is not None:
        refused += missing_password(body, "A new address needs the present password.")
    return refused


def signed_in(view: Any, user: Any, secret: str) -> Response:
    """The answer of a view to a user who has signed in, with the session's cookie."""
    response = respond(user, view.operation)
    give_cookie(response, secret)
    return response


@bp.post("/register")
@public
@documented(headers=("Set-Cookie",), raises=(RegistrationClosed, Duplicate))
@operation(
    body=JsonBody(RegisterInput(), check=_refused_registration), answer=UserOutput(), status=201, tier="auth",
    transactional=False,
)  # fmt: skip
@among_few()
def register(body: dict[str, Any]) -> Any:
    """Open an account and sign in."""
    if not current_app.config["REGISTRATION_OPEN"]:
        raise RegistrationClosed
    username, email = body["username"], body["email"]
    accounts.release()
    hashed = accounts.prepare_password(body["password"], username=username, email=email)

    server = mail_server.configured()
    if server is not None and not account_limits.may_mail(email, None):
        server = None

    def work() -> tuple[Any, str]:
        user = accounts.register(username, email, hashed)
        if server is not None:
            recovery.ask_to_verify(user, server)
        return user, sessions.begin(user.id, user_agent=user_agent())

    made = transaction(work)
    account_limits.give_back()
    return signed_in(register, *made)


@bp.post("/login")
@public
@documented(headers=("Set-Cookie",), raises=(InvalidCredentials, AccountSuspended))
@operation(body=JsonBody(LoginInput()), answer=UserOutput(), tier="auth", transactional=False)
def login(body: dict[str, Any]) -> Any:
    """Sign in by username or e-mail address.

    After many wrong passwords for a login within an hour, an attempt from a new address takes up to two seconds longer.
    """
    with among_few() as place:
        found = accounts.find(body["login"])
        attempt = account_limits.guess_at_login(body["login"], found.id if found else None)
        accounts.release()
        with place.guessing(attempt):
            user = accounts.authenticate(found if attempt.may_pass else None, body["password"])
        new_hash = accounts.upgraded_hash(user, body["password"])

        def work() -> tuple[Any, str]:
            secret = accounts.login(user.id, user.password_hash, new_hash=new_hash, user_agent=user_agent())
            return accounts.get(user.id), secret

        return signed_in(login, *transaction(work))


@bp.post("/logout")
@login_required
@documented(optional_headers=("Set-Cookie",))
@operation(status=204)
def logout() -> Any:
    """Sign out: the session ends on the server, wherever its cookie was copied."""
    by = caller()
    if by.session_id is not None:
        with suppress(NotFound):  # another click, or another of one's browsers, was faster
            sessions.end(by.session_id, by=by)
    return signed_out(by)


def signed_out(by: Caller) -> Response:
    """The empty answer to a caller whose session has ended: a browser forgets its cookie.

    A token needs no cookie: one that came with it may be another user's, and stays.
    """
    response = Response(status=204)
    del response.headers["Content-Type"]
    if by.session_id is not None:
        take_cookie(response)
    return response


@bp.get("/me")
@login_required
@operation(answer=UserOutput(), tier="read")
def show() -> Any:
    """Show the caller's account."""
    return accounts.get(caller().id)


@bp.put("/me")
@login_required
@documented(raises=(Duplicate, AccountDeleted, SignInAgain))
@operation(body=JsonBody(AccountChanges(), check=_bad_changes), answer=UserOutput(), transactional=False)
def change(body: dict[str, Any]) -> Any:
    """Change the caller's e-mail address, password or mail settings, or choose a username once.

    A new password needs the current one and ends all other sessions; with `revoke_tokens` it also revokes all API
    tokens. The current password is checked last, and a wrong one counts as a wrong login does.

    If the service sends mail, a new address needs the current password too. A link is mailed to the new address; until
    it is confirmed (`POST /api/auth/email/verify`), the account keeps the old address. An account without a password
    needs a session that was opened in the last ten minutes instead.
    """
    by, email = caller(), body.get("email")
    user = accounts.get(by.id)
    if "current_password" in body or "password" in body or mail_server.confirming(email, user) is not None:
        user = confirm_password(body.get("current_password"))
    changes: dict[str, Any] = {"email": email, "known_hash": user.password_hash, "notify": body.get("notify")}
    new_hash = None
    if "password" in body:
        new_hash = accounts.prepare_password(body["password"], username=user.username, email=email or user.email)
        changes["revoke_tokens"] = body.get("revoke_tokens", False)
    server = mail_server.confirming(email, user)
    if server is not None:
        account_limits.spend_on_mail(body["email"], by.id)
        changes["email"] = None
    notifier = mail_server.notifier(user) if "password" in body else None

    def work() -> Any:
        if "username" in body:
            accounts.choose_username(body["username"], by=by)
        changed = accounts.change(by, new_hash=new_hash, **changes)
        if server is not None:  # after the password, which ends the links to other addresses
            recovery.propose_email(by, body["email"], known_hash=new_hash or user.password_hash, server=server)
        if notifier is not None:
            recovery.tell_of_password(changed, notifier)
        return changed

    return transaction(work)


@bp.get("/sessions")
@login_required
@operation(answer=SessionList(), tier="read")
def list_sessions() -> Any:
    """List the browsers in which the caller is signed in."""
    return {"items": sessions.listed(caller())}


@bp.delete("/sessions/<id:session_id>")
@login_required
@operation(status=204)
def end_session(session_id: int) -> Any:
    """Sign one browser out."""
    sessions.end(session_id, by=caller())


@bp.delete("/sessions")
@login_required
@operation(status=204)
def end_other_sessions() -> Any:
    """Sign all other browsers out."""
    sessions.end_all(caller().id, keep=caller().session_id)


@bp.get("/tokens")
@login_required
@operation(answer=TokenList(), tier="read")
def list_tokens() -> Any:
    """List the caller's API tokens."""
    return {"items": sessions.tokens(caller())}


@bp.post("/tokens")
@login_required
@operation(body=JsonBody(TokenInput(), check=sessions.token_refusals), answer=NewToken(), status=201)
def issue_token(body: dict[str, Any]) -> Any:
    """Create an API token, whose text is shown only once.

    Send it as `Authorization: Bearer`. It can do everything that its user can, until it expires or is revoked.
    """
    return sessions.issue_token(body["name"], body.get("expires_at"), by=caller())


@bp.delete("/tokens/<id:token_id>")
@login_required
@operation(status=204)
def revoke_token(token_id: int) -> Any:
    """Revoke an API token."""
    sessions.revoke_token(token_id, by=caller())
