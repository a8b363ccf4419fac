"""Who may call a route. Every route carries one of these; `access` is what it says of itself.

They run before anything of the request is counted, read or validated.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

from directory.api.credentials import caller
from directory.errors import AdminRequired
from directory.services import catalog

View = Callable[..., Any]


def public(view: View) -> View:
    """Anyone may call."""
    view.access = "public"  # type: ignore[attr-defined]
    return view


def login_required(view: View) -> View:
    """Signed-in callers may. Raises Unauthenticated."""
    return _guarded(view, "member", lambda **_path: caller())


def owner_required(view: View) -> View:
    """The owner of the project `project_id` and administrators may. Raises Unauthenticated, NotFound, NotOwner.

    The rule itself stands in the services, which ask it again under the project's lock.
    """
    return _guarded(view, "owner", lambda project_id, **_path: catalog.editable(project_id, by=caller()))


def admin_required(view: View) -> View:
    """Administrators may. Raises Unauthenticated, AdminRequired."""
    return _guarded(view, "admin", lambda **_path: require_admin())


def require_admin() -> None:
    """Raise Unauthenticated or AdminRequired unless an administrator calls."""
    if not caller().is_admin:
        raise AdminRequired


def _guarded(view: View, access: str, check: Callable[..., object]) -> View:
    @wraps(view)
    def guarded(**path: Any) -> Any:
        check(**path)
        return view(**path)

    guarded.access = access  # type: ignore[attr-defined]
    return guarded
