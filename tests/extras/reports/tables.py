"""What tests of the core, which walk all routes, know of reports."""

from collections.abc import Callable
from typing import Any

from directory import events
from directory.models import now

REPORT, LIST = "POST /api/projects/<id:project_id>/reports", "GET /api/review/reports"
SETTLE = "PUT /api/review/reports/<id:project_id>/settle"
PAGE, FORM = (f"{method} /report/<id:project_id>" for method in ("GET", "POST"))


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py): reports are off there, and on in test_routes.py."""
    reviewing = t.states("401 403 403 403 401 404 404 404 404")
    return {
        **dict.fromkeys((REPORT, PAGE, FORM), t.ABSENT),
        **dict.fromkeys((LIST, SETTLE), reviewing),
        "GET /admin/reports": t.PUBLIC,
    }


def addresses() -> dict[str, list[str]]:
    """What follows the beginning of its public addresses (tests/api/test_public_walk.py)."""
    return {"/admin/reports": [""]}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    return {REPORT: {"kind": "spam"}, SETTLE: {"outcome": "acted"}}


def forms() -> dict[str, Any]:
    """The fields of its forms."""
    return {FORM: {"kind": "spam"}}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {REPORT: {"kind", "text"}, SETTLE: {"outcome", "reply"}}


def switched_off(t: Any) -> dict[str, Any]:
    """Who is told that there are none (tests/http/test_switched_off.py)."""
    return {REPORT: (t.ANYBODY, t.ABSENT), **dict.fromkeys((LIST, SETTLE), (t.REVIEWER, t.ABSENT))}


def summary() -> dict[str, Any]:
    """The members of the queue's summary, and their values while reports are off."""
    return {"reports": None}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    reported = {"number", "kinds.spam", "first_at"} | t.below("texts[]", "text", "kind", "at")
    reported |= t.below("project", *t.NAMED)
    reporters = t.below("reports[]", "kind", "at", "reporter", "reporter.id", "reporter.username")
    return {
        LIST: t.items(reported | reporters | {"texts[].reporter"}, t.CURSORS),
        SETTLE: reported
        | {"outcome", "reply", "settled_at"}
        | t.below("texts[].reporter", "id", "username")
        | t.below("reports[]", "kind", "at", "reporter.id", "reporter.username"),
    }


def elsewhere(t: Any) -> dict[str, Any]:
    """The members that another test expects: of settled reports, as a settlement answers."""
    settled = t.below("items[]", "outcome", "reply", "settled_at", "texts[].reporter.id")
    return {LIST: settled | {"items[].texts[].reporter.username"}}


def seen() -> dict[str, bool]:
    """Pages that Axe visits (tests/web/test_accessible.py), and whether they are a member's."""
    return {"/report/{other}": False, "/mine?reports=1": True, "/p/{other}/other#report": True}


def walked(part: str, project: int) -> dict[str, Any]:
    """Its pages and forms in a part of the walk through all words (tests/support/walk.py)."""
    page, sent = f"/report/{project}", f"/report/{project}?sent=1"
    return {
        "reading": {"report": (page, "", {}), "reported": (sent, "", {})},
        "entering": {"report": (page, "", {"kind": "x", "text": ""})},
        "own": {
            "report, refused": (page, "bob", {"kind": "x", "text": "y" * 1001}),
            "report": (page, "bob", {"kind": "spam"}),
            "reported": (sent, "bob", {}),
        },
        "elsewhere": {"report": (page, "", {})},
    }[part]


def causes() -> dict[Any, Callable[[Any], Any]]:
    """What causes its events (tests/services/test_events.py)."""
    return {events.PROJECT_REPORTED: _report, events.REPORT_SETTLED: _settle}


def _report(scene: Any) -> None:
    scene.live()
    reporter = scene.world.user("bob")
    scene.world.change(reporter, email_verified_at=now())
    body = {"kind": "spam", "text": "Look."}
    assert scene.world.caller(reporter).post(f"/api/projects/{scene.project}/reports", body).status_code == 202


def _settle(scene: Any) -> None:
    _report(scene)
    body = {"outcome": "acted", "reply": "Thanks."}
    assert scene.admin.put(f"/api/review/reports/{scene.project}/settle", body).status_code == 200
