"""What tests of the core, which walk all routes and commands, know of the rules against spam."""

from collections.abc import Callable
from itertools import count
from typing import Any

from directory import events
from tests.support.factories import Api, World

RULES, RULE = "/api/admin/rules", "/api/admin/rules/<id:rule_id>"
LIST, ADD, FACTS, PREVIEW = f"GET {RULES}", f"POST {RULES}", f"GET {RULES}/facts", f"POST {RULES}/preview"
SHOW, CHANGE, DELETE, REVERT = f"GET {RULE}", f"PUT {RULE}", f"DELETE {RULE}", f"POST {RULE}/revert"
PAGES = ("/admin/rules", "/admin/rules/new", "/admin/rules/<id:rule_id>")
OUTCOMES = ("approved", "rejected", "waiting", "taken_down")
MARKING = {"on": ["submission"], "when": [{"fact": "links", "is": ">=", "value": 9}], "then": "mark"}
HOLDING = {**MARKING, "name": "All", "when": [{"fact": "links", "is": ">=", "value": 0}], "then": "hold"}
_numbers = count(1)


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    return {
        **dict.fromkeys((LIST, FACTS, PREVIEW, SHOW, CHANGE, REVERT), t.ADMIN),
        ADD: t.states("401 403 403 403 401 201"),
        DELETE: t.states("401 403 403 403 401 204"),
        **dict.fromkeys((f"GET {page}" for page in PAGES), t.PUBLIC),
    }


def committing() -> dict[str, Any]:
    """Modules of routes that open their own transaction (there)."""
    from directory.extras.spam_rules import routes

    return {"spam_rules": routes}


def addresses() -> dict[str, list[str]]:
    """What follows the beginning of its public addresses (tests/api/test_revisions_public.py)."""
    return {page: ["/1" if "<" in page else ""] for page in PAGES}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py), with another name each time."""
    number = next(_numbers)
    return {
        ADD: {**MARKING, "name": f"Rule {number}"},
        PREVIEW: {"rule": {**MARKING, "name": "Any"}, "days": 30},
        CHANGE: {"name": f"Rule {number}"},
        REVERT: {"since": "2026-01-01"},
    }


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    rule = {"name", "on", "when", "then", "reason", "state"}
    return {ADD: rule, CHANGE: rule, PREVIEW: {"rule", "days"}, REVERT: {"since"}}


def writes() -> dict[Any, Any]:
    """Writes of administrators (tests/services/test_audit_completeness.py)."""
    return {
        ("POST", "rules"): lambda *_: ("rules", HOLDING),
        ("PUT", "rules/<id:rule_id>"): lambda _, admin: (f"rules/{_added(admin)}", {"name": "Other"}),
        ("DELETE", "rules/<id:rule_id>"): lambda _, admin: (f"rules/{_added(admin)}", None),
        ("POST", "rules/<id:rule_id>/revert"): _reverting,
    }


def unlogged() -> dict[Any, Any]:
    """Those that leave no entry, and why."""
    return {("POST", "rules/preview"): "it stores that the conditions were tried, and nothing else"}


def unlogged_commands() -> dict[str, str]:
    """Commands that leave no entry of their own, and why."""
    return {
        "rules import": "each rule has an entry (test_commands.py)",
        "rules export": "it writes nothing",
        "rules preview": "it stores that the conditions were tried, and nothing else",
    }


def causes() -> dict[Any, Callable[[Any], Any]]:
    """What causes its events (tests/services/test_events.py)."""
    return {
        events.RULE_CREATED: lambda scene: _added(scene.admin),
        events.RULE_CHANGED: lambda scene: scene.admin.put(f"{RULES}/{_added(scene.admin)}", {"name": "Other"}),
        events.RULE_DELETED: lambda scene: scene.admin.delete(f"{RULES}/{_added(scene.admin)}"),
        events.PROJECT_RETURNED: _return,
    }


def _return(scene: Any) -> None:
    rule_id = _added(scene.admin, "on")
    scene.submit()
    assert scene.admin.post(f"{RULES}/{rule_id}/revert", {"since": "2026-01-01"}).json == {"number": 1}


def _added(admin: Api, state: str = "off") -> Any:
    return admin.post(RULES, {**HOLDING, "state": state}).json["id"]


def _reverting(world: World, admin: Api) -> tuple[str, Any]:
    """A rule that holds a submission."""
    rule_id = _added(admin, "on")
    world.category("tools")
    project = {"title": "x", "tagline": "x", "url": "https://example.com", "category": "tools"}
    assert world.caller(world.user()).post("/api/projects", project).json["review"]["held"]
    return f"rules/{rule_id}/revert", {"since": "2026-01-01"}


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    rule = {"id", "name", "on", "then", "reason", "state", "changed_at"}
    rule |= t.below("when[]", "fact", "is", "value") | t.below("days[]", "date", "matched")
    outcomes = {f"{group}.{outcome}" for group in ("by_outcome", "examples") for outcome in OUTCOMES}
    return {
        **dict.fromkeys((ADD, SHOW, CHANGE), rule),
        LIST: t.items(rule),
        FACTS: t.items({"fact", "type", "is", "on"}),
        PREVIEW: {"evaluated", "unknown", "matched"} | outcomes,
        REVERT: {"number"},
    }


def elsewhere(t: Any) -> dict[str, Any]:
    """Declared members that the answers there lack (test_previews.py)."""
    return {PREVIEW: {member for outcome in OUTCOMES for member in t.below(f"examples.{outcome}[]", *t.NAMED)}}
