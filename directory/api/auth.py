"""Registering, signing in and out, one's account, sessions and tokens. Passwords are hashed outside transactions."""

from contextlib import ExitStack, suppress
from typing import Any

from flask import Blueprint, current_app

from directory.api.schemas.accounts import (
    AccountChanges,
    LoginInput,
    NewToken,
    OwnUser,
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
    EmailNotVerified,
    InvalidCredentials,
    NotFound,
    PasswordsOff,
    RegistrationClosed,
    RegistrationRefused,
    SignInAgain,
)
from directory.http import account_limits, languages, rate_limits, receivers
from directory.http.access import for_unconfirmed, login_required, public
from directory.http.authentication import caller
from directory.http.client import user_agent
from directory.http.endpoint import documented, operation
from directory.http.password_checks import (
    among_few,
    confirm_password,
    guessing,
    missing_password,
    require_passwords,
)
from directory.http.signing_in import registering, registration_open, signed_in, signed_out
from directory.http.validation import Errors, JsonBody
from directory.language.messages import _
from directory.models import User
from directory.services import permissions
from directory.services.accounts import accounts, api_tokens, sessions, usernames, users
from directory.services.delivery.channels import MailServer
from directory.services.identity import Caller
from directory.services.sign_in import recovery

bp = Blueprint("auth", __name__, url_prefix="/api/auth")
OUTSIDE = _("Accounts here are for addresses of certain domains, and this is not one of them.")
UNCONFIRMABLE = _("No mail is sent here by which a new address could be confirmed.")
NO_LANGUAGE = _("This site has no such language.")


def _refused_registration(body: dict[str, Any]) -> Errors:
    """The rules that a registration breaks, as far as its fields are valid."""
    username, email = body.get("username"), body.get("email")
    weak = accounts.password_refusals(body.get("password"), username=username, email=email)
    return [*usernames.refusals(username), *_outside(email), *weak]


def _outside(email: str | None) -> Errors:
    """The error of an address outside of SIGNUP_DOMAINS."""
    admits = email is None or users.admits(current_app.config["SIGNUP_DOMAINS"], email)
    return [] if admits else [{"pointer": "#/email", "detail": OUTSIDE}]


def _bad_address(email: str) -> Errors:
    """The error of a new address that SIGNUP_DOMAINS does not admit, or that could not be confirmed."""
    if current_app.config["SIGNUP_DOMAINS"] and receivers.configured_mail_server() is None:
        return [{"pointer": "#/email", "detail": UNCONFIRMABLE}]
    return _outside(email)


def _bad_changes(body: dict[str, Any]) -> Errors:
    """The rules that changes to the caller's account break, except a wrong current password."""
    if "password" in body:
        require_passwords()
    user = accounts.get(caller().id)
    email = body.get("email", user.email)
    refused = accounts.username_refusals(body.get("username"), user)
    if body.get("language") and not languages.of_app().known(body["language"]):
        refused.append({"pointer": "#/language", "detail": NO_LANGUAGE})
    username = body.get("username", user.username)
    refused += accounts.password_refusals(body.get("password"), username=username, email=email)
    if "password" in body:
        refused += missing_password(body, _("Give both password and current_password."))
    elif _is_new_address(body.get("email"), user):
        refused += missing_password(body, _("A new address needs the present password."))
        refused += _bad_address(email)
    return refused


def _require_registration(**_path: Any) -> None:
    """Raise PasswordsOff or RegistrationClosed where nobody opens an account by a password; the latter is counted."""
    require_passwords()
    if not registration_open():
        rate_limits.hit("auth")
        raise RegistrationClosed


@bp.post("/register")
@public
@documented(headers=("Set-Cookie",), raises=(RegistrationClosed, RegistrationRefused, PasswordsOff, Duplicate))
@operation(
    body=JsonBody(RegisterInput(), check=_refused_registration), answer=UserOutput(), status=201, tier="auth",
    transactional=False, when=_require_registration,
)  # fmt: skip
@among_few()
def register(body: dict[str, Any], next_path: str | None = None, language: str | None = None) -> Any:
    """Open an account and sign in."""
    username, email = body["username"], body["email"]
    accounts.release()
    hashed = accounts.prepare_password(body["password"], username=username, email=email)

    server, judge = receivers.configured_mail_server(), receivers.judge()
    must_verify = bool(current_app.config["SIGNUP_DOMAINS"])

    def work() -> tuple[Any, str]:
        user = accounts.register(username, email, hashed, must_verify=must_verify, judge=judge)
        user.language = language
        if server is not None and may_mail:
            recovery.ask_to_verify(user, server, next_path=next_path)
        return user, sessions.begin(user.id, user_agent=user_agent())

    with account_limits.mailing(email, None, is_mailed=server is not None) as may_mail:
        registered = registering(work)
    account_limits.give_back()
    return signed_in(register, *registered)


@bp.post("/login")
@public
@documented(headers=("Set-Cookie",), raises=(InvalidCredentials, AccountSuspended, PasswordsOff))
@operation(body=JsonBody(LoginInput()), answer=UserOutput(), tier="auth", transactional=False, when=require_passwords)
def login(body: dict[str, Any]) -> Any:
    """Sign in by username or e-mail address.

    After many wrong passwords for a login within an hour, attempts from new addresses take turns: a wrong password is
    answered up to four seconds later, and an attempt that gets no turn is refused with 429.
    """
    with guessing():
        account = accounts.find(body["login"])
        may_check = account_limits.guess_at_login(body["login"], account.id if account else None)
        accounts.release()
        user = accounts.authenticate(account if may_check else None, body["password"])
        new_hash = accounts.upgraded_hash(user, body["password"])

        def work() -> tuple[Any, str]:
            secret = accounts.login(user.id, user.password_hash, new_hash=new_hash, user_agent=user_agent())
            return accounts.get(user.id), secret

        signed = transaction(work)
    return signed_in(login, *signed)


@bp.post("/logout")
@login_required
@for_unconfirmed
@documented(optional_headers=("Set-Cookie",))
@operation(status=204)
def logout() -> Any:
    """Sign out: the session ends on the server, wherever its cookie was copied."""
    by = caller()
    if by.session_id is not None:
        with suppress(NotFound):  # another click, or another of one's browsers, was faster
            sessions.end(by.session_id, by=by)
    return signed_out(by)


@bp.get("/me")
@login_required
@for_unconfirmed
@operation(answer=OwnUser(), tier="read")
def show() -> Any:
    """Show the caller's account."""
    return accounts.own(caller())


@bp.put("/me")
@login_required
@for_unconfirmed
@documented(raises=(Duplicate, AccountDeleted, SignInAgain, PasswordsOff, EmailNotVerified))
@operation(body=JsonBody(AccountChanges(), check=_bad_changes), answer=OwnUser(), transactional=False)
def change(body: dict[str, Any]) -> Any:
    """Change the caller's e-mail address, password or mail settings, or choose a username once.

    A new password needs the current one and ends all other sessions; with `revoke_tokens` it also revokes all API
    tokens. The current password is checked last, and a wrong one counts as a wrong login does.

    A new address needs the current password too. If the service sends mail, a link is mailed to the new address; until
    it is confirmed (`POST /api/auth/email/verify`), the account keeps the old address. An account without a password
    needs a session that was opened in the last ten minutes instead, and so does each where passwords are off. A taken
    address is refused before anything is counted for it.
    """
    by, email = caller(), body.get("email")
    if not body.keys() <= {"email", "current_password"}:
        permissions.require_person(by)
    user, new_hash = _confirmed(body)
    is_new = _is_new_address(email, user)
    server = receivers.configured_mail_server() if is_new else None
    if is_new:
        _require_free(body["email"], by)

    def work(notifier: MailServer | None) -> None:
        _choose(body, by)
        changed = accounts.change(
            by,
            email=None if server else email,
            known_hash=user.password_hash,
            new_hash=new_hash,
            revoke_tokens=body.get("revoke_tokens", False),
            notify=body.get("notify"),
        )
        if server is not None:  # after the password, which ends the links to other addresses
            recovery.propose_email(by, body["email"], known_hash=new_hash or user.password_hash, server=server)
        if notifier is not None:
            recovery.tell_of_password(changed, notifier)

    with ExitStack() as limits:
        if server is not None:
            limits.enter_context(account_limits.mailing(body["email"], by.id, refuses=True))
        notifier = limits.enter_context(receivers.notifying(user)) if new_hash else None
        transaction(lambda: work(notifier))
        return accounts.own(by)


def _choose(body: dict[str, Any], by: Caller) -> None:
    """Choose a username, and a language, if the changes have them."""
    if "username" in body:
        accounts.choose_username(body["username"], by=by)
    if "language" in body:
        accounts.choose_language(languages.of_app().known(body["language"]) or None, by=by)


def _confirmed(body: dict[str, Any]) -> tuple[User, str | None]:
    """The caller's account, confirmed where the changes need it, and the hash of a new password."""
    user, email = accounts.get(caller().id), body.get("email")
    if "current_password" in body or "password" in body or _is_new_address(email, user):
        user = confirm_password(body.get("current_password"))
    if "password" not in body:
        return user, None
    return user, accounts.prepare_password(body["password"], username=user.username, email=email or user.email)


def _is_new_address(email: str | None, user: User) -> bool:
    """Whether an address is another than the account has."""
    return email not in (None, user.email)


def _require_free(email: str, by: Caller) -> None:
    """Refuse an address that another account has, before a mail to it is counted.

    A limit that counts for the address and refuses first would tell whether a mail that anybody can cause for a
    username goes to this address. Raises RateLimited, Duplicate.
    """
    rate_limits.hit("new_address", shown=False)
    accounts.release()
    recovery.require_free(email, by=by)
    accounts.release()


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
    return {"items": api_tokens.listed(caller())}


@bp.post("/tokens")
@login_required
@operation(body=JsonBody(TokenInput(), check=api_tokens.refusals), answer=NewToken(), status=201)
def issue_token(body: dict[str, Any]) -> Any:
    """Create an API token, whose text is shown only once.

    Send it as `Authorization: Bearer`. It can do everything that its user can, until it expires or is revoked.
    """
    return api_tokens.issue(body["name"], body.get("expires_at"), by=caller())


@bp.delete("/tokens/<id:token_id>")
@login_required
@operation(status=204)
def revoke_token(token_id: int) -> Any:
    """Revoke an API token."""
    api_tokens.revoke(token_id, by=caller())
