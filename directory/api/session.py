"""The first request of a page: the caller, and what the site allows."""

from typing import Any

from flask import Blueprint, current_app

from directory.api.schemas.site import SessionState
from directory.http import languages
from directory.http.access import public
from directory.http.authentication import viewer
from directory.http.cache_policy import CachePolicy
from directory.http.endpoint import operation
from directory.http.signing_in import has_passkeys, password_reset, providers, registration_open
from directory.services import build, permissions
from directory.services.accounts import accounts
from directory.services.catalog import fields
from directory.services.review import thread

bp = Blueprint("session", __name__, url_prefix="/api/session")


@bp.get("")
@public
@operation(answer=SessionState(), tier="read", personal=True, cache=CachePolicy(constant=True))
def show() -> Any:
    """Show who calls, and the site's settings.

    The answer is 200 for anonymous callers too, and for callers whose cookie is no longer valid.
    """
    user, site, config, known = viewer(), current_app.extensions["site"], current_app.config, languages.of_app()
    account = None if user is None else {**accounts.own(user), "unread": thread.unread(user.id)}
    state = {
        "user": account,
        "site": {"name": site.name, "url": site.url or None},
        "registration_open": registration_open(),
        "read_only": config["READ_ONLY"],
        "reads": config["READS"],
        "password_reset": password_reset(),
        "passkeys": has_passkeys(),
        "providers": providers(),
        "language": None if account is None else account["language"],
        "languages": sorted(known.described, key=lambda language: language["tag"] != known.default),
    }
    if user is not None:
        # An administrator's edit applies at once, unless nobody may review their own.
        editor = permissions.as_editor(user, user.id, config["SELF_REVIEW"])
        at_once = permissions.may(editor, "administer")
        state["reviewed_fields"] = fields.reviewed("never" if at_once else config["REVIEW_ON_EDIT"])
    if permissions.needs_passkey(user):
        state["passkey_required"] = True
    if permissions.may(user, "administer"):
        state["service"] = build.described()
    return state, {"Cache-Control": "private, no-store"}
