"""The providers on the pages that sign in and on the page of a member's account."""

from typing import Any

from flask import Blueprint, current_app

from directory.extras.providers import routes
from directory.http.access import login_required
from directory.http.signing_in import providers
from directory.language.messages import _
from directory.pages.account import HERE, at, outcome
from directory.pages.forms import NO_STORE, same_as, shows
from directory.pages.head import Head
from directory.pages.layout import show

bp = Blueprint("pages", __name__)
# What the section says after a form was accepted.
SAID = {"provider-removed": ("ways", _("The provider is removed."))}
# Why a sign-in failed, by the code that `routes.for_people` puts into the address.
_FAILURES = {
    "sign_in_cancelled": _("You cancelled signing in. Nothing was changed."),
    "sign_in_again": _("Sign in again, and join the provider within ten minutes."),
    "sign_in_expired": _("This took too long, or it began in another browser. Try again."),
    "address_taken": _(
        "An account has your e-mail address already. Sign in to it another way, and join the two in your account."
    ),
    "no_address": _(
        "The provider did not tell an e-mail address of yours that can be used, and a new account needs one. "
        "Add an address to your account at the provider, or ask those who run this site: they can name the claim "
        "(email_claim) that has your address."
    ),
    "identity_taken": _("This sign-in belongs to another account here already."),
    "account_suspended": _("This account is suspended."),
    "not_admitted": _("Your account at the provider is not among those that may use this site."),
    "registration_closed": _("New accounts cannot be created at present."),
    "provider_unavailable": _("The provider does not answer at present. Try again shortly."),
    "provider_failed": _("The provider gave an answer that makes no sense. Try again later."),
    "sign_in_refused": _("The provider's answer was refused. Tell those who run this site."),
    "rate_limited": _("Too many tries. Wait a few minutes, and try again."),
    "read_only": _("The site takes no changes at present, signing in included. Try again later."),
}
FAILURES = {code: ("", why) for code, why in _FAILURES.items()}


def section() -> dict[str, Any]:
    """What the section of the account shows: None for `ways` where no provider is configured."""
    configured = providers()
    ways = routes.list_identities.view()["items"] if configured else None  # type: ignore[attr-defined]
    joined = {way["provider"] for way in ways or ()}
    return {"ways": ways, "others": [provider for provider in configured if provider["name"] not in joined]}


@bp.post("/account/providers")
@shows(at("ways"))
@login_required
@same_as(routes.join)
def join_provider(query: dict[str, str], body: dict[str, Any]) -> Any:
    """Start to join a provider: a page that leads to it, because a form may lead to no other site (form-action)."""
    joining = routes.join.view(body=body)  # type: ignore[attr-defined]
    label = current_app.extensions["providers"][body["provider"]].label
    head = Head(_("On to {provider}", provider=label), indexed=False)
    page, headers = show("leaving.html", head, here=HERE, label=label, location=joining.get_json()["location"])
    return page, {**headers, **NO_STORE, "Set-Cookie": joining.headers["Set-Cookie"]}


@bp.post("/account/providers/<id:identity_id>/remove")
@shows(at("ways"))
@login_required
@same_as(routes.remove_identity)
def remove_provider(identity_id: int, query: dict[str, str]) -> Any:
    """Remove a provider from the account."""
    routes.remove_identity.view(identity_id=identity_id)  # type: ignore[attr-defined]
    return outcome("provider-removed")
