"""What tests of the core, which walk all routes, know of claims."""

from typing import Any

CLAIM, RELEASE = (f"{method} /api/review/projects/<id:project_id>/claim" for method in ("PUT", "DELETE"))


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    claims = t.states(
        "401 403 403 403 401 409 409 404 409",
        "401 403 403 403 401 200 200 404 200",
        "401 403 403 403 401 409 409 404 409",
    )
    return {CLAIM: claims, RELEASE: t.states("401 403 403 403 401 204 204 404 204")}


def bodies() -> dict[str, Any]:
    """A body that the route takes (tests/support/routes.py)."""
    return {CLAIM: {"take_over": True}}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {CLAIM: {"take_over"}}


def switched_off(t: Any) -> dict[str, Any]:
    """Who is told that there are none (tests/http/test_switched_off.py)."""
    return dict.fromkeys((CLAIM, RELEASE), (t.REVIEWER, t.ABSENT))


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    return {CLAIM: {"until"} | t.below("user", "id", "username")}


def waiting() -> dict[str, Any]:
    """The route that is for a project that waits for review."""
    return {CLAIM: None}


def summary() -> dict[str, Any]:
    """The members of the queue's summary, and their values without a claim."""
    return {"mine": 0, "claims": True}


def queued() -> dict[str, Any]:
    """The member of an item of the queue, for which a page costs a statement."""
    return {"claim": None}


def queries() -> dict[str, Any]:
    """Filters of the queue (tests/api/test_reviewers.py)."""
    return dict.fromkeys(("claimed=others", "claimed=none"))


def reviewed(caller: Any, project: int) -> dict[str, Any]:
    """What a reviewer does with a pending project."""
    return {CLAIM: caller.put(f"/api/review/projects/{project}/claim")}
