"""Access: the callers that may use a route. A decorator names them, and `check` decides, once for each request.

`endpoint` calls it before the request is counted, read or validated.
"""

from collections.abc import Callable
from typing import Any

from flask import Flask, current_app, g, request
from sqlalchemy import event
from sqlalchemy.orm import Session
from werkzeug.exceptions import NotFound

from directory.errors import AdminRequired, PasskeyRequired
from directory.extensions import db
from directory.http import rate_limits, write_checks
from directory.http.authentication import bearer_of, caller, viewer
from directory.http.exchange import Exchange, current
from directory.services.catalog import catalog
from directory.services.identity import Caller, is_administrator

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


def admit(exchange: Exchange) -> None:
    """Refuse what no route takes, before the view and what decorates it. Raises the errors of each check.

    These are writes that `write_checks` refuses, and bad bearer tokens, on public routes too. Unknown paths under
    /api/admin, and impossible ids there, are closed to others than administrators.
    """
    if request.routing_exception is None:
        if not exchange.is_read:
            write_checks.check(exchange)
        if bearer_of(exchange.environ) is not None:
            viewer()
    elif exchange.path.startswith(ADMIN) and isinstance(request.routing_exception, NotFound):
        viewer()
        require_admin(caller())


def check(exchange: Exchange, path: dict[str, Any]) -> None:
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
    if is_by_administrator and not exchange.is_read:
        exchange.by_admin = by


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
    Administrators who demote themselves are checked by `administration.administer`.
    """
    by = current().by_admin if "exchange" in g else None  # a command, or a batch of votes, has none
    if by is None or (request.view_args or {}).get("user_id") == by.id:
        return
    session.flush()
    if not is_administrator(by):
        raise AdminRequired


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
