"""What tests of the core, which walk all routes, know of passkeys."""

from collections.abc import Callable
from typing import Any

from flask import Flask

from directory.db.transactions import transaction
from directory.extensions import db
from directory.extras.passkeys import page
from directory.models import Passkey
from directory.services.identity import Caller
from tests.support.authenticator import Authenticator
from tests.support.browsers import Browser
from tests.support.factories import Api, World

KEYS = "/api/auth/passkeys"
OPTIONS, ADD, LIST = f"POST {KEYS}/options", f"POST {KEYS}", f"GET {KEYS}"
RENAME, REMOVE = f"PUT {KEYS}/<id:passkey_id>", f"DELETE {KEYS}/<id:passkey_id>"
BEGIN, LOGIN = f"POST {KEYS}/login/options", f"POST {KEYS}/login"
NAME_FORM, REMOVE_FORM = (f"POST /account/passkeys/<id:passkey_id>/{form}" for form in ("name", "remove"))


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    stale, absent = t.states("401 403 403 403 401 403"), t.states("401 404 404 404 401 404")
    return {
        **dict.fromkeys((OPTIONS, ADD), stale),  # a token is not a fresh session
        LIST: t.MEMBER,
        **dict.fromkeys((RENAME, REMOVE), absent),
        BEGIN: t.PUBLIC,
        LOGIN: t.states("401 401 401 401 401 401"),  # by an unknown passkey
        **dict.fromkeys((NAME_FORM, REMOVE_FORM), t.MISSING),
    }


def fresh() -> dict[str, Any]:
    """The statuses of a session that was opened just now, in place of those of a token."""
    return {OPTIONS: "200", ADD: "422", REMOVE: "404"}


def identifying() -> dict[str, Any]:
    """Routes whose body names who calls, with the code for an unknown one."""
    return {LOGIN: "invalid_credentials"}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    return {
        ADD: {"credential": {"id": "x"}, "name": "new"},
        RENAME: {"name": "new"},
        LOGIN: {"credential": {"id": "x"}},
    }


def forms() -> dict[str, Any]:
    """The fields of its forms."""
    return {NAME_FORM: {"name": "new"}}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {ADD: {"credential", "name"}, RENAME: {"name"}, LOGIN: {"credential"}}


def lacking() -> dict[str, Any]:
    """What the routes answer to invented bodies."""
    return {ADD: 403, RENAME: 404, LOGIN: 401}


def switched_off(t: Any) -> dict[str, Any]:
    """Who is told that there are none (tests/http/test_switched_off.py)."""
    of_members = (OPTIONS, ADD, LIST, RENAME, REMOVE)
    return {**dict.fromkeys(of_members, (t.MEMBER, t.ABSENT)), **dict.fromkeys((BEGIN, LOGIN), (t.ANYBODY, t.ABSENT))}


def commands() -> dict[str, Callable[[World, Api], tuple[list[str], str]]]:
    """Its command, and what that logs (tests/services/test_audit_completeness.py)."""
    return {"users reset-passkeys": lambda world, _: (_with_passkey(world), "user.passkeys_reset")}


def _with_passkey(world: World) -> list[str]:
    user = world.user("ada")
    key = Passkey(user_id=user.id, credential_id="x", public_key="x", sign_count=0, name="Key")
    with world.app.app_context():
        transaction(lambda: db.session.add(key))
    return ["users", "reset-passkeys", "ada"]


def account_forms() -> dict[str, Any]:
    """Forms of the account that are refused (tests/support/walk.py)."""
    return {"passkeys/999/name": [{"name": ""}], "passkeys/999/remove": [{"nothing": ""}]}


def said() -> dict[str, Any]:
    """What the account says after its forms (tests/support/walk.py)."""
    return page.SAID


def hostile() -> dict[str, Any]:
    """A hostile caller (tests/system/chaos/hostile_bytes.py)."""
    from tests.extras.passkeys.hostile import registrar

    return {"passkeys": registrar}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    below = t.below
    return {
        "POST /api/auth/passkeys/options": {
            "challenge",
            "timeout",
            "attestation",
            *below("rp", "id", "name"),
            *below("user", "id", "name", "displayName"),
            *below("pubKeyCredParams[]", "type", "alg"),
            *below("excludeCredentials[]", "id", "type"),
            *below("authenticatorSelection", "residentKey", "requireResidentKey", "userVerification"),
        },
        "POST /api/auth/passkeys": t.PASSKEY,
        "GET /api/auth/passkeys": t.items(t.PASSKEY),
        "PUT /api/auth/passkeys/<id:passkey_id>": t.PASSKEY,
        "POST /api/auth/passkeys/login/options": {
            "challenge",
            "timeout",
            "rpId",
            "userVerification",
            "allowCredentials",
        },
        "POST /api/auth/passkeys/login": t.ACCOUNT,
    }


def asking() -> dict[str, Any]:
    """Who asks its routes there: an account with a passkey."""
    return {KEYS: Keys}


class Keys:
    """A browser of an account with a passkey, which asks the routes of passkeys."""

    def __init__(self, app: Flask, user: Caller) -> None:
        self.browser, self.key = Browser(app).sign_in(user.username), Authenticator("http://localhost")
        self.passkey = self.add(self.key)

    def add(self, key: Authenticator) -> Any:
        credential = key.create(self.browser.post("/api/auth/passkeys/options").json)
        return self.browser.post("/api/auth/passkeys", {"credential": credential}).json

    def ask(self, name: str) -> Any:
        if name == "POST /api/auth/passkeys":
            return self.add(Authenticator("http://localhost"))
        if name == "POST /api/auth/passkeys/login":
            signed = self.key.sign(self.browser.post("/api/auth/passkeys/login/options").json)
            return self.browser.post("/api/auth/passkeys/login", {"credential": signed}).json
        method, _, path = name.partition(" ")
        sent = {"name": "New"} if method == "PUT" else None
        return self.browser.call(method, path.replace("<id:passkey_id>", str(self.passkey["id"])), sent).json
