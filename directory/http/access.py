"""Access: the callers that may use a route. A decorator names them, and `check` decides, once for each request.

`endpoint` calls it before the request is counted, read or validated.
"""

from collections.abc import Callable
from typing import Any

from flask import Flask, current_app, g, has_request_context, request
from sqlalchemy import event
from sqlalchemy.orm import Session
from werkzeug.exceptions import NotFound

from directory.errors import AdminRequired, PasskeyRequired
from directory.extensions import db
from directory.http import rate_limits
from directory.http.authentication import caller, viewer
from directory.http.hooks import SAFE_METHODS
from directory.services.accounts.identity import Caller, is_administrator
from directory.services.catalog import catalog

View = Callable[..., Any]
ADMIN = "/api/admin/"


def public(view: View) -> View:
    """Anyone may call the route."""
    return _named(view, "public")


def login_required(view: View) -> View:
    """Signed-in callers may call the route. Raises Unauthenticated."""
    return _named(view, "member")


def owner_required(view: View) -> View:
    """Only the owner of project `project_id` and administrators may. Raises Unauthenticated, NotFound, NotOwner."""
    return _named(view, "owner")


def admin_required(view: View) -> View:
    """Only administrators may call the route. Raises Unauthenticated, PasskeyRequired, AdminRequired."""
    return _named(view, "admin")


def _named(view: View, access: str) -> View:
    view.access = access  # type: ignore[attr-defined]
    return view


def check(path: dict[str, Any]) -> None:
    """Raise the error of the route's decorator unless the caller may use the route.

    The rule for owners is in the services, which check it again under the project's lock. The rate limit counts the
    request before, so that it also counts attempts at projects that do not exist.
    """
    view: Any = current_app.view_functions[request.endpoint or ""]
    access, tier = view.access, view.operation.tier
    if access != "public" or tier is not None:
        viewer()  # Cache-Control depends on the caller, even if the body does not
    if access == "public":
        return
    by = caller()
    if access == "owner":
        rate_limits.hit(tier)
        catalog.editable(path["project_id"], by=by)
    elif access == "admin":
        require_admin(by)
    is_by_administrator = access == "admin" or (access == "owner" and by.is_admin)
    if is_by_administrator and request.method not in SAFE_METHODS:
        g.by_administrator = by


def require_admin(by: Caller) -> None:
    """Raise PasskeyRequired or AdminRequired unless the caller is an administrator."""
    if by.needs_passkey:
        raise PasskeyRequired
    if not by.is_admin:
        raise AdminRequired


@event.listens_for(db.session, "before_commit")
def _require_role_still(session: Session) -> None:
    """Refuse the write of an administrator who was demoted or suspended since the request began. Raises AdminRequired.

    It is the last statement of each transaction of such a request, after all waits for locks, so no decision needs a
    check of its own. The account is not locked: other transactions lock accounts first, so that could deadlock.
    Administrators who demote themselves are checked by `accounts.administer`.
    """
    by = g.get("by_administrator") if has_request_context() else None
    if by is None or (request.view_args or {}).get("user_id") == by.id:
        return
    session.flush()
    if not is_administrator(by):
        raise AdminRequired


def close_admin() -> None:
    """Refuse others than administrators at unknown paths under /api/admin, including impossible ids."""
    if request.path.startswith(ADMIN) and isinstance(request.routing_exception, NotFound):
        viewer()
        require_admin(caller())


def require_access(app: Flask) -> None:
    """Refuse to start if a route has no access rule, no operation to check it, or is open under /api/admin.

    A forgotten rule must not open a route.
    """
    for rule in app.url_map.iter_rules():
        view = app.view_functions[rule.endpoint]
        access = getattr(view, "access", None)
        if access is None or not hasattr(view, "operation"):
            raise RuntimeError(f"the route {rule.endpoint} has no access rule, or no operation that checks it")
        if rule.rule.startswith(ADMIN) and access != "admin":
            raise RuntimeError(f"the route {rule.endpoint} under {ADMIN} is open to others than administrators")
