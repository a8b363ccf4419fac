"""What tests of the core, which walk all routes, know of appeals."""

from typing import Any

from directory import events
from directory.extras.appeals import page

APPEAL, FORM = "POST /api/projects/<id:project_id>/appeal", "POST /mine/<id:project_id>/appeal"
SETTLE = "PUT /api/review/projects/<id:project_id>/appeal"


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py), while appeals are off."""
    own = t.states("401 404 409 404 401 404")
    return {APPEAL: own, FORM: own, SETTLE: t.states("401 403 403 403 401 200 200 404 200")}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    return {APPEAL: {"text": "Look again."}, SETTLE: {"outcome": "upheld", "reason": "Seen."}}


def forms() -> dict[str, Any]:
    """The fields of its form."""
    return {FORM: {"text": "Look again."}}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {APPEAL: {"text"}, SETTLE: {"outcome", "reason"}}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    return {APPEAL: t.MESSAGE, SETTLE: t.REVIEWED}


def elsewhere(t: Any) -> dict[str, Any]:
    """Declared members that the answers there lack."""
    return {APPEAL: t.below("author", "id", "username"), SETTLE: t.revised() | t.approved()}


def switched_off(t: Any) -> dict[str, Any]:
    """Who could use what is off, and how it is refused (tests/http/test_switched_off.py)."""
    no = (409, "appeal_not_possible")
    return {APPEAL: (t.OWNER, no), SETTLE: (t.REVIEWER, no)}


def summary() -> dict[str, Any]:
    """The members of the queue's summary, and their values while appeals are off."""
    return {"appeals": False}


def causes() -> dict[Any, Any]:
    """What causes its events (tests/services/test_events.py)."""
    return {
        events.PROJECT_APPEALED: _appeal,
        events.PROJECT_APPEAL_UPHELD: lambda scene: _settle(scene, "upheld"),
        events.PROJECT_APPEAL_REVERSED: lambda scene: _settle(scene, "reversed"),
    }


def _appeal(scene: Any) -> None:
    path = scene.decide("reject", {"reason": "So."})
    assert scene.owner.post(f"{path}/appeal", {"text": "Look."}).status_code == 201


def _settle(scene: Any, outcome: str) -> None:
    _appeal(scene)
    eve = scene.world.caller(scene.world.admin("eve"))
    path, body = f"/api/review/projects/{scene.project}/appeal", {"outcome": outcome, "reason": "So."}
    assert eve.put(path, body).status_code == 200


def sent() -> dict[str, Any]:
    """What the page of a project says after its form was accepted."""
    return page.SAID


def pressed(walk: Any) -> dict[str, Any]:
    """Forms that ada sends on the page of a project, on the walk past everything that people read."""
    refused, live, words = f"/mine/{walk.rejected}/appeal", f"/mine/{walk.live}/appeal", {"text": "Look again."}
    return {"appeals": [(refused, {"text": ""}), (live, words), (refused, words)]}
