"""The administrators' routes for the review: the queue, decisions, the log, and the categories."""

from typing import Any

from directory.api.admin.blueprint import bp
from directory.api.projects import listing, order, subscribers
from directory.api.schemas.admin import (
    AuditPage,
    AuditQuery,
    DecisionList,
    DecisionsInput,
    HistoryQuery,
    QueueQuery,
    ReasonInput,
)
from directory.api.schemas.projects import CategoryInput, CategoryOutput, ProjectDetail, ProjectPage
from directory.errors import CategoryInUse, Duplicate, InvalidTransition, PreconditionFailed
from directory.http import pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import operation, versions_allowed
from directory.services import audit, categories, moderation
from directory.services.catalog import catalog


@bp.get("/projects")
@admin_required
@operation(query=QueueQuery(), answer=ProjectPage(), tier="read", headers=("Link",))
def queue(query: dict[str, Any]) -> Any:
    """List projects of every state; the pending ones are the review queue, oldest first."""
    owner = query.get("owner")
    filters = catalog.Filters(
        **{name: query.get(name) for name in ("status", "category", "q")},
        owner=None if owner == "me" else owner,
        owner_id=caller().id if owner == "me" else None,
    )
    waits = filters.status == "pending" and query.get("sort") is None
    return listing(filters, "oldest" if waits else order(query), query)


@bp.put("/projects/<id:project_id>/approve")
@admin_required
@operation(body=ReasonInput(), answer=ProjectDetail(), raises=(InvalidTransition, PreconditionFailed))
def approve(project_id: int, body: dict[str, Any]) -> Any:
    """Make a pending project live and notify the outside; a reason is for the log alone.

    Approving what is live already changes nothing and notifies nobody, so a retry is harmless. Of two administrators
    who decide at once one wins; with `If-Match` nothing is published that its reviewer has not seen. So it is with the
    other decisions.
    """
    return _decided(project_id, "approve", body)


@bp.put("/projects/<id:project_id>/reject")
@admin_required
@operation(body=ReasonInput(), answer=ProjectDetail(), raises=(InvalidTransition, PreconditionFailed))
def reject(project_id: int, body: dict[str, Any]) -> Any:
    """Refuse a pending project, with a reason if one is given."""
    return _decided(project_id, "reject", body)


@bp.put("/projects/<id:project_id>/unpublish")
@admin_required
@operation(body=ReasonInput(), answer=ProjectDetail(), raises=(InvalidTransition, PreconditionFailed))
def unpublish(project_id: int, body: dict[str, Any]) -> Any:
    """Take a live project down, back to the queue.

    Its votes and its first publication stay.
    """
    return _decided(project_id, "unpublish", body)


def _decided(project_id: int, decision: str, body: dict[str, Any]) -> Any:
    reason, versions = body.get("reason"), versions_allowed()
    moderation.decide(project_id, decision, by=caller(), notify=subscribers(), reason=reason, versions=versions)
    return catalog.one(project_id, viewer=caller())


@bp.post("/projects/decisions")
@admin_required
@operation(body=DecisionsInput(), body_required=True, answer=DecisionList())
def decide(body: dict[str, Any]) -> Any:
    """Approve or reject up to a hundred projects at once; each item of the answer has its own status."""
    refusals = moderation.decide_many(
        body["decision"], body["ids"], by=caller(), notify=subscribers(), reason=body.get("reason")
    )
    projects = catalog.many([one for one, code in refusals.items() if code is None], viewer=caller())
    return {"items": [_outcome(one, refusals[one], projects.get(one)) for one in body["ids"]]}


def _outcome(project_id: int, code: str | None, project: dict[str, Any] | None) -> dict[str, Any]:
    if code is None:
        return {"id": project_id, "status": 200, "project": project}
    return {"id": project_id, "status": 404 if code == "not_found" else 409, "code": code}


@bp.get("/projects/<id:project_id>/history")
@admin_required
@operation(query=HistoryQuery(), answer=AuditPage(), tier="read")
def history(project_id: int, query: dict[str, Any]) -> Any:
    """List what happened to a project, and to earlier submissions of its URL."""
    window = pagination.window(query)
    found = audit.history(project_id, window)
    return {"items": found.items, "pagination": pagination.pagination(found, window)}


@bp.get("/audit")
@admin_required
@operation(query=AuditQuery(), answer=AuditPage(), tier="read")
def log(query: dict[str, Any]) -> Any:
    """List the audit log, newest first."""
    window = pagination.window(query)
    names = ("action", "project_id", "user_id", "actor_id")
    found = audit.entries(window, **{name: query[name] for name in names if name in query})
    return {"items": found.items, "pagination": pagination.pagination(found, window)}


@bp.post("/categories")
@admin_required
@operation(
    body=CategoryInput(), body_required=True, answer=CategoryOutput(), status=201, headers=("Location",),
    raises=(Duplicate,),
)  # fmt: skip
def add_category(body: dict[str, Any]) -> Any:
    """Add a category."""
    return categories.add(body), {"Location": f"/api/admin/categories/{body['slug']}"}


@bp.put("/categories/<slug:slug>")
@admin_required
@operation(body=CategoryInput(partial=True), body_required=True, answer=CategoryOutput(), raises=(Duplicate,))
def change_category(slug: str, body: dict[str, Any]) -> Any:
    """Change a category."""
    return categories.change(slug, body)


@bp.delete("/categories/<slug:slug>")
@admin_required
@operation(status=204, raises=(CategoryInUse,))
def remove_category(slug: str) -> Any:
    """Delete a category that no project uses."""
    categories.remove(slug)
