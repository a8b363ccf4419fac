"""Signing in by a provider, and the identities of an account. All of it is absent if no provider is configured.

A browser is sent to the provider and comes back. If that fails, a person gets a page, and a program that asks for JSON
the problem.
"""

import re
import secrets
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial, wraps
from typing import Any
from urllib.parse import urlencode, urlsplit

from flask import Blueprint, Response, current_app, request

from directory.db.transactions import transaction
from directory.errors import (
    AccountSuspended,
    Duplicate,
    LastWayIn,
    NotFound,
    RegistrationClosed,
    RegistrationRefused,
    SignInAgain,
    SignInExpired,
)
from directory.extras.providers import attempts, groups, identities
from directory.extras.providers.provider import Claims, Provider, mark_of, secrets_of
from directory.extras.providers.refusals import (
    AddressTaken,
    IdentityTaken,
    NoAddress,
    NotAdmitted,
    ProviderFailed,
    ProviderUnavailable,
    SignInCancelled,
    SignInRefused,
)
from directory.extras.providers.schemas import CallbackQuery, IdentityList, JoinInput, JoinOutput, StartQuery
from directory.http import account_limits, languages, problem_details, rate_limits, receivers
from directory.http.access import login_required, public
from directory.http.authentication import caller, cookie_attributes, viewer
from directory.http.client import prefers_json, user_agent
from directory.http.endpoint import as_response, documented, operation
from directory.http.exchange import current
from directory.http.password_checks import are_on
from directory.http.signing_in import give_session, registering
from directory.http.validation import JsonBody
from directory.models import User
from directory.services.accounts import accounts, sessions
from directory.services.sign_in import recovery, ways_in
from directory.services.site import Site

bp = Blueprint("providers", __name__, url_prefix="/api/auth")

ACCOUNT, SIGN_IN = "/account", "/sign-in"  # where one joins a provider, and the page that says what went wrong
NEXT = "next"
SECONDS = int(attempts.LIFETIME.total_seconds())
BROWSER_SECRET = re.compile(r"[A-Za-z0-9_-]{43}")
TRIES = 5  # for a name, an address or an identity that others take at the same time


def _configured(**_path: Any) -> dict[str, Provider]:
    """The providers by name. Raises NotFound if there are none."""
    providers: dict[str, Provider] = current_app.extensions["providers"]
    if not providers:
        raise NotFound
    return providers


def _provider(provider: str) -> Provider:
    """The provider of a name. Raises NotFound."""
    known = _configured().get(provider)
    if known is None:
        raise NotFound
    return known


def _redirect_uri(provider: Provider) -> str:
    """The address to which the provider returns the browser. It has to be registered with the provider."""
    site: Site = current_app.extensions["site"]
    return f"{site.url or request.host_url.removesuffix('/')}/api/auth/providers/{provider.name}/callback"


def for_people(view: Callable[..., Any]) -> Callable[..., Any]:
    """Redirect a person to a page that explains the error, if a view that a browser opens fails.

    The reason in the address is the code of the problem, or `no_address`. The page leads on to what the person wanted,
    in the language of that, and nothing else that came with the request is in its address.
    """

    @wraps(view)
    def run(**path: Any) -> Any:
        try:
            return view(**path)
        except NotFound:
            raise
        except Exception as error:
            if not (current_app.config["WEB_ENABLED"] and current_app.extensions["providers"]) or prefers_json():
                raise
            problem = problem_details.of(error)
            reason = error.reason if isinstance(error, NoAddress) else problem.get_json(force=True)["code"]
            to, language = languages.parted(current().aside.get(NEXT, "/"))
            rest = {NEXT: to if to != "/" else "", languages.PARAMETER: language}
            query = {"sign-in": "failed", "reason": reason} | {name: value for name, value in rest.items() if value}
            return _to(f"{SIGN_IN}?{urlencode(query)}")

    return run


def _to(location: str) -> Response:
    return Response(status=302, headers={"Location": location})


def _browser_secret() -> str:
    """The secret of this browser, in which alone a sign-in that begins here is completed; or a new one.

    Sign-ins in several tabs share it.
    """
    secret = request.cookies.get(_cookie(), "")
    return secret if BROWSER_SECRET.fullmatch(secret) else secrets.token_urlsafe(32)


def _give_browser_secret(response: Response, secret: str) -> None:
    """Set the cookie with that secret, for as long as a sign-in may take."""
    response.set_cookie(_cookie(), secret, max_age=SECONDS, **cookie_attributes())


def _cookie() -> str:
    return f"{current_app.config['COOKIE_NAME']}-sign-in"


def _begin(provider: Provider, next_path: str, user_id: int | None) -> tuple[str, str]:
    """The address at the provider, and the browser's secret."""
    browser, keys = _browser_secret(), current_app.config["SECRET_KEYS"]
    accounts.release()
    state = transaction(lambda: attempts.begin(provider.name, browser, next_path, user_id, mark=mark_of(keys[0])))
    accounts.release()  # no connection is held while the provider is asked
    return provider.authorization_url(secrets_of(state, keys), _redirect_uri(provider)), browser


@bp.get("/providers/<provider>")
@for_people
@public
@documented(
    headers=("Location",), optional_headers=("Set-Cookie",), raises=(NotFound, ProviderUnavailable, ProviderFailed),
)  # fmt: skip
@operation(query=StartQuery(), status=302, when=_provider)
def start(provider: str, query: dict[str, Any]) -> Any:
    """Start a sign-in by a provider.

    It redirects a browser to the provider, which sends it back to `/api/auth/providers/[name]/callback`. A person is
    redirected to `/sign-in?sign-in=failed&reason=[code]` where that fails, with `next` if it was given; a program that
    accepts `application/json` gets the problem.
    """
    chosen = _provider(provider)
    current().aside[NEXT] = query[NEXT]
    rate_limits.hit("sign_in")
    location, browser = _begin(chosen, query[NEXT], None)
    response = _to(location)
    _give_browser_secret(response, browser)
    return response


@bp.get("/providers/<provider>/callback")
@for_people
@public
@documented(
    headers=("Location",), optional_headers=("Set-Cookie",),
    raises=(
        NotFound, SignInExpired, SignInCancelled, SignInRefused, SignInAgain, AccountSuspended, RegistrationClosed,
        RegistrationRefused, NotAdmitted, AddressTaken, IdentityTaken, ProviderUnavailable, ProviderFailed,
    ),
)  # fmt: skip
@operation(query=CallbackQuery(), status=302, when=_provider)
def callback(provider: str, query: dict[str, Any]) -> Any:
    """Complete a sign-in by a provider.

    It signs in the browser that started this sign-in within the last ten minutes, and redirects it to the page that it
    wanted. A new user gets an account. A user whose address an account has already is signed in to that account if both
    sides have confirmed the address; otherwise the sign-in is refused (`address_taken`).
    """
    chosen = _provider(provider)
    rate_limits.hit("sign_in")
    state, browser, by = query.get("state", ""), _browser_secret(), viewer()
    accounts.release()
    next_path, user_id = transaction(lambda: attempts.take(state, chosen.name, browser))
    current().aside[NEXT] = next_path
    if user_id is not None and (by is None or by.id != user_id):
        raise SignInExpired
    accounts.release()  # no connection is held while the provider is asked
    claims = chosen.identify(query, secrets_of(state, current_app.config["SECRET_KEYS"]), _redirect_uri(chosen))
    response = _to(next_path)
    if by is not None and user_id is not None:
        transaction(lambda: identities.join(claims, by=by))
    else:
        give_session(response, *_signed_in(claims, next_path))
    account_limits.give_back_sign_in()
    return response


def _ask_to_verify(user: User, next_path: str, limits: ExitStack) -> None:
    """Send the owner of a new account the link that confirms its address, where mail is sent."""
    server = receivers.configured_mail_server()
    if server and not user.email_verified and limits.enter_context(account_limits.mailing(user.email, user.id)):
        recovery.ask_to_verify(user, server, next_path=next_path if next_path != "/" else None)


def _signed_in(claims: Claims, next_path: str) -> tuple[str, str | None]:
    """The secret of a new session of the identity's account, and the account's language.

    A new account has the language of the page to which the caller goes. Raises NotAdmitted, and the errors of the rule.
    """
    config = current_app.config
    rules: dict[str, Any] = {"registration_open": config["REGISTRATION_OPEN"], "domains": config["SIGNUP_DOMAINS"]}
    rules["judge"] = receivers.judge()

    def work(limits: ExitStack) -> tuple[int, str, str | None] | None:
        signed_in = groups.sign_in(claims, user_agent=user_agent(), **rules)
        if signed_in is None:
            return None
        user, secret, is_new = signed_in
        if is_new:
            user.language = languages.of_visitor(urlsplit(next_path).query)
            _ask_to_verify(user, next_path, limits)
        return user.id, secret, user.language

    left = TRIES
    while True:
        left -= 1
        try:
            with ExitStack() as limits:
                signed = registering(partial(work, limits))
            break
        except Duplicate:
            if not left:
                raise
    if signed is None:
        raise NotAdmitted
    current().account_id, secret, language = signed
    return secret, language


@bp.get("/identities")
@login_required
@documented(raises=(NotFound,))
@operation(answer=IdentityList(), tier="read", when=_configured)
def list_identities() -> Any:
    """List the caller's sign-in providers."""
    by_issuer = {one.issuer: one for one in _configured().values()}
    has_password = are_on() and bool(accounts.get(caller().id).password_hash)
    rows = [(identity, by_issuer.get(identity["issuer"])) for identity in ways_in.identities(caller())]
    items = [
        {**identity, "provider": one.name if one else None, "label": one.label if one else identity["issuer"]}
        for identity, one in rows
    ]
    return {"has_password": has_password, "items": items}


@bp.post("/identities")
@login_required
@documented(headers=("Set-Cookie",), raises=(NotFound, SignInAgain, ProviderUnavailable, ProviderFailed))
@operation(body=JsonBody(JoinInput()), answer=JoinOutput(), transactional=False, when=_configured)
def join(body: dict[str, Any]) -> Any:
    """Start to join a provider to the caller's account.

    The answer has the address that the browser opens next. The browser comes back to the account's page. It has to be
    signed in to the same account then, by a session that was opened in the last ten minutes.
    """
    chosen = _provider(body["provider"])
    if caller().session_id is not None:
        sessions.require_fresh(caller())
    rate_limits.hit("sign_in")
    location, browser = _begin(chosen, ACCOUNT, caller().id)
    response = as_response(join.operation.render({"location": location}))  # type: ignore[attr-defined]
    _give_browser_secret(response, browser)
    return response


@bp.delete("/identities/<id:identity_id>")
@login_required
@documented(raises=(NotFound, LastWayIn))
@operation(status=204, when=_configured)
def remove_identity(identity_id: int) -> Any:
    """Remove a provider from the caller's account.

    The last provider of an account without a password cannot be removed, because its user could no longer sign in.
    """
    names = {one.issuer: one.name for one in _configured().values()}
    identities.remove(identity_id, by=caller(), names=names, passwords=are_on())
