"""Access decorators: the callers that may use a route. Every route has one; `view.access` names it.

They run before the request is read or validated.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import g, has_request_context, request
from sqlalchemy import event
from sqlalchemy.orm import Session
from werkzeug.exceptions import NotFound

from directory.errors import AdminRequired, PasskeyRequired
from directory.extensions import db
from directory.http import rate_limits
from directory.http.authentication import caller
from directory.http.hooks import SAFE_METHODS
from directory.services.accounts.identity import is_administrator
from directory.services.catalog import catalog

View = Callable[..., Any]


def public(view: View) -> View:
    """Anyone may call the route."""
    view.access = "public"  # type: ignore[attr-defined]
    return view


def login_required(view: View) -> View:
    """Signed-in callers may call the route. Raises Unauthenticated."""
    return _restricted(view, "member", lambda **_path: caller())


def owner_required(view: View) -> View:
    """Only the owner of project `project_id` and administrators may. Raises Unauthenticated, NotFound, NotOwner.

    The rule is in the services, which check it again under the project's lock. The rate limit counts the request before
    the check, so that it also counts attempts at projects that do not exist.
    """

    def check(project_id: int, **_path: Any) -> None:
        by = caller()
        rate_limits.hit(view.operation.tier)  # type: ignore[attr-defined]
        catalog.editable(project_id, by=by)

    return _restricted(view, "owner", check)


def admin_required(view: View) -> View:
    """Only administrators may call the route. Raises Unauthenticated, AdminRequired."""
    return _restricted(view, "admin", lambda **_path: require_admin())


def require_admin() -> None:
    """Raise Unauthenticated, PasskeyRequired or AdminRequired unless the caller is an administrator."""
    by = caller()
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
    """Refuse others than administrators under /api/admin even for unknown paths, including impossible ids."""
    if request.path.startswith("/api/admin/") and isinstance(request.routing_exception, NotFound):
        require_admin()


def _restricted(view: View, access: str, check: Callable[..., object]) -> View:
    @wraps(view)
    def restricted(**path: Any) -> Any:
        check(**path)
        if access != "member" and request.method not in SAFE_METHODS and caller().is_admin:
            g.by_administrator = caller()
        return view(**path)

    restricted.access = access  # type: ignore[attr-defined]
    return restricted
