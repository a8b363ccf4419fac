"""Signing in by a passkey, and the passkeys of an account. In production all of it is absent without SITE_URL."""

from typing import Any

from flask import Blueprint, current_app, request

from directory.api.schemas.accounts import PasskeyOutput, UserOutput
from directory.db.transactions import transaction
from directory.errors import AccountSuspended, InvalidCredentials, LastWayIn, NotFound, PasskeyRequired, SignInAgain
from directory.extras.passkeys import passkeys
from directory.extras.passkeys.passkeys import RelyingParty, TooManyPasskeys
from directory.extras.passkeys.schemas import (
    CreationOptions,
    PasskeyChanges,
    PasskeyInput,
    PasskeyList,
    PasskeySignIn,
    RequestOptions,
)
from directory.http import account_limits, rate_limits, receivers
from directory.http.access import login_required, public
from directory.http.authentication import caller
from directory.http.client import user_agent
from directory.http.endpoint import documented, operation
from directory.http.exchange import current
from directory.http.password_checks import are_on
from directory.http.signing_in import has_passkeys, signed_in
from directory.http.validation import JsonBody
from directory.services.accounts import accounts, sessions
from directory.services.sign_in import ways_in
from directory.services.site import Site

bp = Blueprint("passkeys", __name__, url_prefix="/api/auth/passkeys")


def _party(**_path: Any) -> RelyingParty:
    """Return the relying party (WebAuthn) that this site is. Raises NotFound if passkeys are off."""
    if not has_passkeys():
        raise NotFound
    site: Site = current_app.extensions["site"]
    origin = site.url or request.host_url.removesuffix("/")
    host = origin.partition("://")[2]
    return RelyingParty(origin, host.partition(":")[0] if not host.startswith("[") else host, site.name)


@bp.post("/options")
@login_required
@documented(raises=(NotFound, SignInAgain, PasskeyRequired, TooManyPasskeys))
@operation(answer=CreationOptions(), when=_party)
def creation_options() -> Any:
    """Begin to add a passkey to one's account.

    It takes a session of the last ten minutes. The challenge in the answer works once, for five minutes, in the same
    session.
    """
    return passkeys.registration_options(_party(), by=caller())


@bp.post("")
@login_required
@documented(raises=(NotFound, SignInAgain, PasskeyRequired, TooManyPasskeys))
@operation(body=JsonBody(PasskeyInput()), answer=PasskeyOutput(), status=201, transactional=False, when=_party)
def add(body: dict[str, Any]) -> Any:
    """Add a passkey to one's account, by the answer of an authenticator.

    It takes a session of the last ten minutes. The account's address gets a mail.
    """
    party, by, credential = _party(), caller(), body["credential"]
    sessions.require_fresh(by)
    user = accounts.get(by.id)
    accounts.release()
    named = passkeys.challenge_of(credential)
    challenge = transaction(lambda: passkeys.take(named, by.session_id))
    verified = passkeys.registered(credential, challenge, party)
    with receivers.notifying(user) as server:
        return transaction(lambda: passkeys.add(verified, body.get("name"), by=by, server=server))


@bp.get("")
@login_required
@documented(raises=(NotFound,))
@operation(answer=PasskeyList(), tier="read", when=_party)
def list_passkeys() -> Any:
    """List one's passkeys."""
    return {"items": ways_in.passkeys(caller())}


@bp.put("/<id:passkey_id>")
@login_required
@documented(raises=(NotFound,))
@operation(body=JsonBody(PasskeyChanges()), answer=PasskeyOutput(), when=_party)
def rename(passkey_id: int, body: dict[str, Any]) -> Any:
    """Give a passkey another name."""
    return passkeys.rename(passkey_id, body["name"], by=caller())


@bp.delete("/<id:passkey_id>")
@login_required
@documented(raises=(NotFound, SignInAgain, PasskeyRequired, LastWayIn))
@operation(status=204, when=_party)
def remove(passkey_id: int) -> None:
    """Remove a passkey from one's account.

    It takes a session of the last ten minutes. The account's address gets a mail. Sessions stay open.
    """
    with receivers.notifying(accounts.get(caller().id)) as server:
        passkeys.remove(passkey_id, by=caller(), server=server, passwords=are_on())


@bp.post("/login/options")
@public
@documented(raises=(NotFound,))
@operation(answer=RequestOptions(), tier="write", when=_party)
def request_options() -> Any:
    """Begin to sign in by a passkey, without a username.

    The challenge in the answer works once, for five minutes.
    """
    party = _party()
    rate_limits.hit("sign_in")
    return passkeys.sign_in_options(party)


@bp.post("/login")
@public
@documented(headers=("Set-Cookie",), raises=(NotFound, InvalidCredentials, AccountSuspended))
@operation(body=JsonBody(PasskeySignIn()), answer=UserOutput(), transactional=False, when=_party)
def login(body: dict[str, Any]) -> Any:
    """Sign in by the answer of an authenticator."""
    party, credential = _party(), body["credential"]
    rate_limits.hit("sign_in")
    accounts.release()
    named = passkeys.challenge_of(credential)
    challenge = transaction(lambda: passkeys.take(named, None))
    proof = passkeys.proved(credential, challenge, party)

    def work() -> Any:
        user, secret = passkeys.sign_in(proof, user_agent=user_agent())
        current().account_id = user.id
        return accounts.get(user.id), secret

    signed = transaction(work)
    account_limits.give_back_sign_in()
    return signed_in(login, *signed)
