"""What tests of the core, which walk all routes, know of picks."""

from typing import Any

from directory import events

PICK, UNPICK = (f"{method} /api/review/projects/<id:project_id>/pick" for method in ("PUT", "DELETE"))
WORDS = {"words": "A good beginning."}


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    found = {"GET /picked": t.PUBLIC}
    for route, done in ((PICK, "200"), (UNPICK, "204")):
        no = "401 403 403 403 401"
        found[route] = t.states(f"{no} {done} {done} 404 {done}", pending=f"{no} 409 409 404 409")
    return found


def addresses() -> dict[str, list[str]]:
    """What follows the beginning of its public addresses (tests/api/test_public_walk.py)."""
    return {"/picked": [""]}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    return {PICK: WORDS}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {PICK: {"words"}}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    return {PICK: t.REVIEWED - {"picked"} | t.below("picked", "at", "words")}


def elsewhere(t: Any) -> dict[str, Any]:
    """Declared members that the answers there lack."""
    return {PICK: t.revised() | t.approved()}


def causes() -> dict[Any, Any]:
    """What causes its events (tests/services/test_events.py)."""
    return {events.PROJECT_PICKED: _pick, events.PROJECT_UNPICKED: _unpick}


def _pick(scene: Any) -> str:
    scene.live()
    path = f"/api/review/projects/{scene.project}/pick"
    assert scene.admin.put(path, WORDS).status_code == 200
    return path


def _unpick(scene: Any) -> None:
    assert scene.admin.delete(_pick(scene)).status_code == 204


def walked(part: str, _project: int) -> dict[str, Any]:
    """Its page in a part of the walk through all words (tests/support/walk.py)."""
    return {"picked": ("/picked", "", {})} if part == "reading" else {}
