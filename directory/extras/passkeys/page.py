"""The passkeys on the page of a member's account."""

from typing import Any

from flask import Blueprint

from directory.extras.passkeys import routes
from directory.http.access import login_required, needs_passkey
from directory.http.authentication import caller
from directory.http.signing_in import has_passkeys
from directory.language.messages import _
from directory.pages.account import at, outcome
from directory.pages.forms import same_as, shows
from directory.services import permissions

bp = Blueprint("pages", __name__)
# What the section says after a form was accepted.
SAID = {
    "passkey-added": ("passkeys", _("The passkey is added.")),
    "passkey-renamed": ("passkeys", _("The passkey has another name.")),
    "passkey-removed": ("passkeys", _("The passkey is removed.")),
}


def section() -> dict[str, Any]:
    """What the section shows."""
    return {
        "passkeys": routes.list_passkeys.view()["items"] if has_passkeys() else None,  # type: ignore[attr-defined]
        "needs_passkey": needs_passkey().detail if permissions.needs_passkey(caller()) else "",
    }


@bp.post("/account/passkeys/<id:passkey_id>/name")
@shows(at("passkeys"))
@login_required
@same_as(routes.rename)
def rename_passkey(passkey_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Give a passkey another name."""
    routes.rename.view(passkey_id=passkey_id, body=body)  # type: ignore[attr-defined]
    return outcome("passkey-renamed")


@bp.post("/account/passkeys/<id:passkey_id>/remove")
@shows(at("passkeys"))
@login_required
@same_as(routes.remove)
def remove_passkey(passkey_id: int, query: dict[str, str]) -> Any:
    """Remove a passkey from the account."""
    routes.remove.view(passkey_id=passkey_id)  # type: ignore[attr-defined]
    return outcome("passkey-removed")
