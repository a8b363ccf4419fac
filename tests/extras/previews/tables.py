"""What tests of the core, which walk all routes, know of cards and badges."""

from typing import Any

PATHS = ("/p/<id:project_id>/badge.svg", "/p/<id:project_id>/card.png")


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    live = t.states("200 200 200 200 401 200", pending="404 404 404 404 401 404")
    return {f"GET {path}": live for path in PATHS}


def addresses() -> dict[str, list[str]]:
    """What follows the beginning of its public addresses (tests/api/test_revisions_public.py)."""
    return {path: ["/{project}"] for path in PATHS}
