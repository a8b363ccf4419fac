"""The administrators' routes. The blueprint is closed as a whole, so that a new route is too."""

import time
from typing import Any

import orjson
from flask import Blueprint, Response

from directory.api.projects import listing, order, subscribers
from directory.api.schemas.admin import (
    AuditPage,
    AuditQuery,
    DeliveriesQuery,
    DeliveryOutput,
    DeliveryPage,
    UserChanges,
    UserDetail,
    UserPage,
    UsersQuery,
)
from directory.api.schemas.dashboard import Analytics, AnalyticsQuery
from directory.api.schemas.projects import CategoryInput, CategoryOutput, ProjectDetail
from directory.api.schemas.review import (
    DecisionList,
    DecisionsInput,
    HistoryQuery,
    QueuePage,
    QueueQuery,
    ReasonInput,
)
from directory.errors import CategoryInUse, Duplicate, InvalidTransition, LastAdmin, PreconditionFailed
from directory.http import pagination
from directory.http.access import admin_required, close_admin, require_admin
from directory.http.authentication import caller
from directory.http.endpoint import operation, versions_allowed
from directory.http.memo import remembered
from directory.http.problem_details import KINDS
from directory.http.serialization import compiled
from directory.services import analytics, audit, categories, moderation
from directory.services.accounts import accounts
from directory.services.accounts import users as people
from directory.services.catalog import background, catalog
from directory.services.webhooks import deliveries as outbox

bp = Blueprint("admin", __name__, url_prefix="/api/admin")
bp.before_request(require_admin)

DECISIONS = DecisionsInput()
DASHBOARD = Analytics()
DASHBOARD_SECONDS = 60  # how old the figures may be, though nothing was written: the day may have ended
bp.before_app_request(close_admin)


@bp.get("/projects")
@admin_required
@operation(query=QueueQuery(), answer=QueuePage(), tier="read", headers=("Link",))
def queue(query: dict[str, Any]) -> Any:
    """List projects of every state; the pending ones are the review queue, oldest first."""
    owner = query.get("owner")
    filters = catalog.Filters(
        **{name: query.get(name) for name in ("status", "category", "q")},
        owner=None if owner == "me" else owner,
        owner_id=caller().id if owner == "me" else None,
    )
    waits = filters.status == "pending" and query.get("sort") is None
    page, headers = listing(filters, "oldest" if waits else order(query), query)
    background.add(page["items"])
    return page, headers


@bp.put("/projects/<id:project_id>/approve")
@admin_required
@operation(body=ReasonInput(), answer=ProjectDetail(), raises=(InvalidTransition, PreconditionFailed))
def approve(project_id: int, body: dict[str, Any]) -> Any:
    """Make a pending project live and notify the outside; a reason is for the log alone.

    Approving what is live already changes nothing and sends no notification, so a retry is harmless, also one with an
    older `If-Match`. Of two administrators who decide at once one wins. With `If-Match` nothing is published that its
    reviewer has not seen. The other decisions work alike.
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

    Its votes and its first publication stay. Its owner sees the reason.
    """
    return _decided(project_id, "unpublish", body)


def _decided(project_id: int, decision: str, body: dict[str, Any]) -> Any:
    reason, versions = body.get("reason"), versions_allowed()
    moderation.decide(project_id, decision, by=caller(), notify=subscribers(), reason=reason, versions=versions)
    return catalog.one(project_id, viewer=caller())


@bp.post("/projects/decisions")
@admin_required
@operation(body=DECISIONS, body_required=True, answer=DecisionList())
def decide(body: dict[str, Any]) -> Any:
    """Approve, reject, unpublish or delete up to a hundred projects at once.

    Each item of the answer has its own status. A project whose version is no longer the one given is left as it is
    (412), so that nothing is decided that its reviewer has not seen; but an approval or rejection that holds already is
    200, so that a request whose answer was lost can be sent again. A deletion is possible in every state.
    """
    wanted = DECISIONS.wanted(body)
    refusals = moderation.decide_many(
        body["decision"], wanted, by=caller(), notify=subscribers(), reason=body.get("reason")
    )
    shown = [project_id for project_id, code in refusals.items() if code in {None, PreconditionFailed.code}]
    projects = catalog.many(shown, viewer=caller())
    return {"items": [_outcome(one, refusals[one], projects.get(one)) for one in wanted]}


def _outcome(project_id: int, code: str | None, project: dict[str, Any] | None) -> dict[str, Any]:
    outcome: dict[str, Any] = {"id": project_id, "status": 200 if code is None else KINDS[code].status}
    outcome |= {} if code is None else {"code": code}
    return outcome if project is None else {**outcome, "project": project}


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
    filters = {name: query[name] for name in audit.NARROWING if name in query}
    # Named, so that a cursor of an earlier version, which told less of its place, is none of this list.
    window = pagination.window(query, {"entries": filters})
    found = audit.entries(window, **filters)
    return {"items": found.items, "pagination": pagination.pagination(found, window)}


@bp.get("/users")
@admin_required
@operation(query=UsersQuery(), answer=UserPage(), tier="read", headers=("Link",))
def users(query: dict[str, Any]) -> Any:
    """List users with their statistics."""
    window = pagination.window(query)
    filters = people.Filters(**{name: query.get(name) for name in ("q", "role", "status")})
    found = people.page(filters, query["sort"], window)
    paging = pagination.numbered(found, window, people.total(filters))
    return {"items": found.items, "pagination": paging}, {"Link": pagination.links(paging)}


@bp.put("/users/<id:user_id>")
@admin_required
@operation(body=UserChanges(), body_required=True, answer=UserDetail(), raises=(LastAdmin,))
def change_user(user_id: int, body: dict[str, Any]) -> Any:
    """Change a user's role or status."""
    accounts.administer(user_id, role=body.get("role"), status=body.get("status"), by=caller())
    return people.one(user_id)


@bp.get("/analytics")
@admin_required
@operation(query=AnalyticsQuery(), answer=DASHBOARD, tier="read")
def dashboard(query: dict[str, Any]) -> Any:
    """Show the dashboard's figures."""
    days, minute = query["days"], int(time.time() / DASHBOARD_SECONDS)
    body = remembered((days, minute), lambda: orjson.dumps(compiled(DASHBOARD)(analytics.dashboard(days))))
    return Response(body, content_type="application/json")


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


@bp.get("/webhooks/deliveries")
@admin_required
@operation(query=DeliveriesQuery(), answer=DeliveryPage(), tier="read")
def deliveries(query: dict[str, Any]) -> Any:
    """List webhook deliveries with their attempts, newest first."""
    window = pagination.window(query)
    found = outbox.listed(query.get("state"), window)
    return {"items": found.items, "pagination": pagination.pagination(found, window)}


@bp.post("/webhooks/deliveries/<id:delivery_id>/redeliver")
@admin_required
@operation(answer=DeliveryOutput(), status=202)
def redeliver(delivery_id: int) -> Any:
    """Send a delivery again, under the same webhook-id."""
    return outbox.redeliver(delivery_id)
