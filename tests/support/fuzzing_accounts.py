"""Gives the fuzzer's requests about accounts what no generator makes up: links that work, and sign-ins under way.

Each acts on an account of its own, which may be changed and deleted; the caller's stays as it is.
"""

from itertools import count
from typing import Any
from urllib.parse import urlencode

from flask import Flask
from sqlalchemy import select

from directory.db.transactions import transaction
from directory.extensions import db
from directory.models import Identity, LinkPurpose, MailLink, Passkey, User
from directory.services.accounts import mail_links, sessions
from directory.services.delivery.mail import link_mails
from directory.services.identity import Caller
from tests.support.browsers import COOKIE, Browser
from tests.support.factories import PASSWORD, World
from tests.support.lying_provider import LyingProvider

PROVIDER = "company"
START = f"/api/auth/providers/{PROVIDER}"
PURPOSES = {"recoveryReset": LinkPurpose.RESET, "recoveryVerify": LinkPurpose.VERIFY}
BROWSERS = {"providersStart", "providersCallback"}
# Nothing listens there: mails stay in the outbox, because no deliverer runs.
MAIL = {"MAIL_URL": "smtp://127.0.0.1:9", "MAIL_FROM": "directory@example.net", "SITE_URL": "https://directory.example"}


class Accounts:
    """The accounts besides the caller's, the mail server of the settings, and the provider."""

    def __init__(self, app: Flask, provider: LyingProvider, caller: Caller | None) -> None:
        self._app, self._provider, self._caller = app, provider, caller
        self._world, self._numbers = World(app), count(1)
        [self._server] = app.extensions["webhooks"]
        self._reader = self._world.user()

    def prepare(self, case: Any, operation: str, *, token: str, is_positive: bool) -> None:
        """Have a case reach what it is about. `token` is the caller's, empty for an anonymous one."""
        is_caller = bool(token) and case.headers.get("Authorization") == f"Bearer {token}"
        if operation in {"accountDelete", "authChange"} and is_caller:  # the latter can revoke all tokens
            case.headers["Authorization"] = f"Bearer {self._world.caller(self._world.user()).token}"
        if operation == "providersJoin" and is_caller:
            del case.headers["Authorization"]
            case.headers["Sec-Fetch-Site"] = "same-origin"
            case.cookies = {COOKIE: self._session()}
        if operation == "passkeysRemove" and is_caller and is_positive:  # it takes a session of the last minutes
            del case.headers["Authorization"]
            case.headers["Sec-Fetch-Site"] = "same-origin"
            user = self._world.user()
            case.path_parameters["passkey_id"] = self._passkey(user.id)
            case.cookies = {COOKIE: self._session(user.id)}
        if operation in BROWSERS:  # a person in a browser is sent on to a page where a program gets the problem
            accepts = "text/html" if is_positive and next(self._numbers) % 2 else "application/json"
            case.headers["Accept"] = accepts
        if is_positive:
            self._mend_body(case.body, operation)
            self._mend_path(case, operation)

    def _mend_body(self, body: Any, operation: str) -> None:
        if operation in PURPOSES:
            body["token"] = self._link(PURPOSES[operation])
        elif operation == "accountDelete" or (operation == "authChange" and {"email", "password"} & body.keys()):
            body["current_password"] = PASSWORD
        elif operation == "providersJoin":
            body["provider"] = PROVIDER

    def _mend_path(self, case: Any, operation: str) -> None:
        if operation == "recoverySwitchOff":
            case.path_parameters["token"] = mail_links.unsubscribe_token(self._reader.id, self._server.key)
        elif operation == "providersRemoveIdentity" and self._caller:
            case.path_parameters["identity_id"] = self._identity(self._caller.id)
        elif operation in BROWSERS:
            case.path_parameters["provider"] = PROVIDER
            if operation == "providersCallback" and next(self._numbers) % 3 == 0:
                self._come_back(case)

    def _link(self, purpose: LinkPurpose) -> str:
        """The token of a link that was mailed to a new account."""
        user = self._world.user()
        with self._app.app_context():
            mailed = db.session.get(User, user.id)
            assert mailed
            transaction(lambda: link_mails.queue(purpose, mailed, mailed.email, self._server))
            nonce = db.session.scalars(select(MailLink.nonce).where(MailLink.user_id == user.id)).one()
        return mail_links.token_of(nonce, self._server.key)

    def _session(self, user_id: int | None = None) -> str:
        """The cookie of a browser in which a user, or else a new one, has just signed in."""
        of = user_id or self._world.user().id
        with self._app.app_context():
            return transaction(lambda: sessions.begin(of, user_agent=""))

    def _passkey(self, user_id: int) -> int:
        """The id of a passkey of a user; nobody has its key."""
        text = f"passkey-{next(self._numbers)}"
        passkey = Passkey(user_id=user_id, credential_id=text, public_key=text, sign_count=0, name=text)
        with self._app.app_context():
            transaction(lambda: db.session.add(passkey) or db.session.flush())
            return passkey.id

    def _identity(self, user_id: int) -> int:
        """The id of an identity that the caller has just joined."""
        identity = Identity(user_id=user_id, issuer=self._provider.issuer, subject=f"joined-{next(self._numbers)}")
        with self._app.app_context():
            transaction(lambda: db.session.add(identity) or db.session.flush())
            return identity.id

    def _come_back(self, case: Any) -> None:
        """Make the case a browser that comes back from the provider as somebody new."""
        number = next(self._numbers)
        self._provider.person = {
            "sub": str(number), "email": f"person{number}@example.org", "email_verified": number % 2 == 0,
        }  # fmt: skip
        browser = Browser(self._app)
        location = browser.get(f"{START}?{urlencode({'next': '/mine'})}").headers["Location"]
        secret = browser.client.get_cookie(f"{COOKIE}-sign-in")
        assert secret
        case.query = self._provider.authorize(location)
        case.cookies = {f"{COOKIE}-sign-in": secret.value}
