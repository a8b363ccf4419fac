"""Registering, signing in and out, one's account, sessions and tokens. Passwords are hashed outside transactions."""

from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from threading import BoundedSemaphore
from typing import Any

from flask import Blueprint, Response, current_app, request

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
from directory.db import deadline
from directory.db.slots import given_back
from directory.db.transactions import transaction
from directory.errors import (
    AccountSuspended,
    Duplicate,
    InvalidCredentials,
    NotFound,
    RegistrationClosed,
    Unavailable,
)
from directory.http import rate_limits
from directory.http.access import login_required, public
from directory.http.authentication import caller, give_cookie, take_cookie
from directory.http.endpoint import operation, respond
from directory.http.validation import Errors
from directory.services.accounts import accounts, sessions
from directory.services.accounts.passwords import AT_ONCE

bp = Blueprint("auth", __name__, url_prefix="/api/auth")

# Twice as many as can hash: that keeps these busy. What the others do before, all at once, would hold up every read.
DOOR = 2 * AT_ONCE
_door = BoundedSemaphore(DOOR)


def few_at_once(view: Callable[..., Any]) -> Callable[..., Any]:
    """Let few callers at once into a view that hashes a password; the others wait without a slot.

    It stands within `operation`, which counts the request first: a caller over the limit waits for none of this.
    Raises Unavailable where the wait takes all of a request's time.
    """

    @wraps(view)
    def run(**arguments: Any) -> Any:
        if not _door.acquire(blocking=False) and not _let_in():
            raise Unavailable
        try:
            return view(**arguments)
        finally:
            _door.release()

    return run


def _let_in() -> bool:
    accounts.release()  # the caller's session may have been looked up; its connection goes to others during the wait
    with given_back():
        return _door.acquire(timeout=deadline.remaining(deadline.SECONDS))


def _weak_password(body: dict[str, Any]) -> Errors:
    """What the rules refuse of the new password, as far as the username and address beside it are valid."""
    return accounts.password_refusals(body.get("password"), username=body.get("username"), email=body.get("email"))


def _bad_changes(body: dict[str, Any]) -> Errors:
    """What the rules refuse of changes to the caller's account, but for a wrong current password."""
    user = accounts.get(caller().id)
    email = body.get("email", user.email)
    return accounts.password_refusals(body.get("password"), username=user.username, email=email)


def _user_agent() -> str:
    return "".join(c for c in request.user_agent.string if c.isprintable())


def _signed_in(user: Any, secret: str, status: int) -> Response:
    response = respond(user, register.operation if status == 201 else login.operation)  # type: ignore[attr-defined]
    give_cookie(response, secret)
    return response


@bp.post("/register")
@public
@operation(
    body=RegisterInput(), body_required=True, check=_weak_password, answer=UserOutput(), status=201, tier="auth",
    transactional=False, headers=("Set-Cookie",),
    raises=(RegistrationClosed, Duplicate),
)  # fmt: skip
@few_at_once
def register(body: dict[str, Any]) -> Any:
    """Open an account and sign in."""
    if not current_app.config["REGISTRATION_OPEN"]:
        raise RegistrationClosed
    username, email = body["username"], body["email"]
    accounts.release()
    hashed = accounts.prepare_password(body["password"], username=username, email=email)

    def work() -> tuple[Any, str]:
        user = accounts.register(username, email, hashed)
        return user, sessions.begin(user.id, user_agent=_user_agent())

    return _signed_in(*transaction(work), 201)


@bp.post("/login")
@public
@operation(
    body=LoginInput(), body_required=True, answer=UserOutput(), tier="auth", transactional=False,
    headers=("Set-Cookie",),
    raises=(InvalidCredentials, AccountSuspended),
)  # fmt: skip
@few_at_once
def login(body: dict[str, Any]) -> Any:
    """Sign in by username or e-mail address."""
    found = accounts.find(body["login"])
    may_guess = rate_limits.spend_on_login(body["login"], found.id if found else None)
    accounts.release()
    user = accounts.authenticate(found if may_guess else None, body["password"])
    new_hash = accounts.upgraded_hash(user, body["password"])

    def work() -> tuple[Any, str]:
        secret = accounts.login(user.id, user.password_hash, new_hash=new_hash, user_agent=_user_agent())
        return accounts.get(user.id), secret

    return _signed_in(*transaction(work), 200)


@bp.post("/logout")
@login_required
@operation(status=204, optional_headers=("Set-Cookie",))
def logout() -> Any:
    """Sign out: the session ends on the server, wherever its cookie was copied."""
    session_id = caller().session_id
    response = Response(status=204)
    del response.headers["Content-Type"]
    if session_id is not None:  # a token proves itself alone: the cookie beside it is another's, and stays
        with suppress(NotFound):  # another click, or another of one's browsers, was faster
            sessions.end(session_id, by=caller())
        take_cookie(response)
    return response


@bp.get("/me")
@login_required
@operation(answer=UserOutput(), tier="read")
def show() -> Any:
    """Show one's account."""
    return accounts.get(caller().id)


@bp.put("/me")
@login_required
@operation(
    body=AccountChanges(), body_required=True, check=_bad_changes, answer=UserOutput(), transactional=False,
    raises=(Duplicate,),
)  # fmt: skip
def change(body: dict[str, Any]) -> Any:
    """Change one's e-mail address or password.

    A new password needs the present one, and ends all one's other sessions. The present password is looked at when
    nothing else is wrong, and counts as a login does.
    """
    user = accounts.get(caller().id)
    known, new_hash = user.password_hash, None
    if "password" in body:
        rate_limits.spend_on_current_password(user.username, user.id)
        email = body.get("email", user.email)
        accounts.release()
        accounts.require_password(known, body["current_password"])
        new_hash = accounts.prepare_password(body["password"], username=user.username, email=email)
    return transaction(lambda: accounts.change(caller(), email=body.get("email"), known_hash=known, new_hash=new_hash))


@bp.get("/sessions")
@login_required
@operation(answer=SessionList(), tier="read")
def list_sessions() -> Any:
    """List one's signed-in browsers."""
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
    sessions.end_others(caller().id, keep=caller().session_id)


@bp.get("/tokens")
@login_required
@operation(answer=TokenList(), tier="read")
def list_tokens() -> Any:
    """List one's API tokens."""
    return {"items": sessions.tokens(caller())}


@bp.post("/tokens")
@login_required
@operation(body=TokenInput(), body_required=True, check=sessions.token_refusals, answer=NewToken(), status=201)
def issue_token(body: dict[str, Any]) -> Any:
    """Make an API token; its text is shown this once.

    Send it as `Authorization: Bearer`. It may do whatever its user may, until it expires or is revoked.
    """
    return sessions.issue_token(body["name"], body.get("expires_at"), by=caller())


@bp.delete("/tokens/<id:token_id>")
@login_required
@operation(status=204)
def revoke_token(token_id: int) -> Any:
    """Revoke an API token."""
    sessions.revoke_token(token_id, by=caller())
