"""Passkeys: adding them to an account, and signing in by one without a username (WebAuthn)."""

from directory.extras import Extra, Slot
from directory.extras.passkeys import page, routes
from directory.http.signing_in import has_passkeys

extra = Extra(
    blueprints=(routes.bp,),
    pages=(page.bp,),
    commands={"users": {"reset-passkeys": "reset_passkeys"}},
    slots={
        "account": Slot("account_passkeys.html", page.section, page.SAID),
        "sign_in": Slot("sign_in_passkeys.html", lambda: {"has_passkeys": has_passkeys()}),
    },
)
