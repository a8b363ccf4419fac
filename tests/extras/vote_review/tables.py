"""What tests of the core, which walk all routes, know of the review of votes."""

from typing import Any

from tests.support.factories import World

VOTES = "GET /api/admin/projects/<id:project_id>/votes"
DECISIONS = "POST /api/admin/projects/<id:project_id>/votes/decisions"
DOUBTFUL = "GET /api/admin/projects/doubtful"
SIGNS = ("new_accounts", "unverified", "single_owner")


def access(t: Any) -> dict[str, Any]:
    """Who may call what (tests/api/test_access.py)."""
    page = "GET /admin/projects/<id:project_id>"
    return {**dict.fromkeys((VOTES, DECISIONS, DOUBTFUL), t.ADMIN), page: t.PUBLIC}


def addresses() -> dict[str, list[str]]:
    """What follows the beginning of its public addresses (tests/api/test_revisions_public.py)."""
    return {"/admin/projects/<id:project_id>": ["/{project}"]}


def bodies() -> dict[str, Any]:
    """Bodies that the routes take (tests/support/routes.py)."""
    return {DECISIONS: {"decision": "discount", "match": ["unverified"]}}


def members() -> dict[str, Any]:
    """The members of bodies (tests/api/test_mass_assignment.py)."""
    return {DECISIONS: {"decision", "user_ids", "match", "reason"}}


def writes() -> dict[Any, Any]:
    """Writes of administrators (tests/services/test_audit_completeness.py)."""
    return {
        ("POST", "projects/<id:project_id>/votes/decisions"): lambda world, _: (
            f"projects/{_voted(world)}/votes/decisions", {"decision": "discount", "match": ["new_accounts"]},
        ),
    }  # fmt: skip


def _voted(world: World) -> int:
    project = world.project()
    world.vote(project, world.user())
    return project


def answers(t: Any) -> dict[str, Any]:
    """The members of answers (tests/api/test_fields_shown.py)."""
    votes = t.below("items[]", "at", "counted", "votes", "for_owner")
    votes |= t.below("items[].user", "id", "username", "status", "created_at", "email_verified")
    votes |= t.below("summary", "counted", "discounted", "suspended", *SIGNS)
    return {
        VOTES: votes | t.CURSORS,
        DECISIONS: {"changed", "upvotes"},
        DOUBTFUL: t.items(t.OWN | {"counted", "doubtful", "is_above", *SIGNS}, t.PAGES),
    }


def elsewhere(t: Any) -> dict[str, Any]:
    """Declared members that the answers there lack."""
    return {DOUBTFUL: t.revised("items[]")}
