"""The administrators' routes for the review: the queue, decisions, the log, the categories, and the votes."""

from typing import Any

from flask import Response

from directory.api.admin.blueprint import bp
from directory.api.schemas.projects import CategoryInput, CategoryOutput, ProjectDetail
from directory.api.schemas.review import (
    AuditFileQuery,
    AuditPage,
    AuditQuery,
    DecisionList,
    DecisionsInput,
    DoubtfulList,
    DoubtfulQuery,
    HistoryQuery,
    QueuePage,
    QueueQuery,
    ReasonInput,
    VoteDecisionsInput,
    VotePage,
    VotesDecided,
    VotesQuery,
)
from directory.errors import CategoryInUse, Duplicate, InvalidTransition, PreconditionFailed
from directory.http import log_files, pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.problem_kinds import KINDS
from directory.http.project_lists import listing, order
from directory.http.receivers import configured_mail_server, subscribers
from directory.http.validation import JsonBody
from directory.models import now
from directory.services import audit
from directory.services.catalog import additions, catalog, categories
from directory.services.review import moderation
from directory.services.votes import vote_review

DECISIONS = DecisionsInput()


@bp.get("/projects")
@admin_required
@documented(headers=("Link",))
@operation(query=QueueQuery(), answer=QueuePage(), tier="read")
def queue(query: dict[str, Any]) -> Any:
    """List projects of every state; with waiting=true the review queue, oldest first.

    The queue has the pending projects, and the live ones with changes that wait for review. `status` narrows it to one
    of the two.
    """
    owner = query.get("owner")
    filters = catalog.Filters(
        **{name: query.get(name) for name in ("status", "category", "q", "waiting")},
        owner=None if owner == "me" else owner,
        owner_id=caller().id if owner == "me" else None,
    )
    waits = (filters.waiting or filters.status == "pending") and query.get("sort") is None
    page, headers = listing(filters, "oldest" if waits else order(query), query)
    additions.add_background(page["items"])
    return page, headers


@bp.put("/projects/<id:project_id>/approve")
@admin_required
@documented(raises=(InvalidTransition, PreconditionFailed, Duplicate))
@operation(body=JsonBody(ReasonInput(), optional=True), answer=ProjectDetail())
def approve(project_id: int, body: dict[str, Any]) -> Any:
    """Make a pending project live, or apply the waiting changes of a live one; the reason is only kept in the log.

    Webhooks are notified of either. If the owner meanwhile has another project with the new URL, the answer is
    `duplicate`, and the changes still wait. A retry is harmless, also with an older `If-Match`: approving a live
    project that has no waiting changes has no effect and sends no notification. If two administrators decide at once,
    one of them wins. With `If-Match` a version that the reviewer has not seen is not published. The
    other decisions work alike.
    """
    return _decided(project_id, "approve", body)


@bp.put("/projects/<id:project_id>/reject")
@admin_required
@documented(raises=(InvalidTransition, PreconditionFailed))
@operation(body=JsonBody(ReasonInput(), optional=True), answer=ProjectDetail())
def reject(project_id: int, body: dict[str, Any]) -> Any:
    """Reject a pending project, or the waiting changes of a live one, with an optional reason.

    A live project stays as it is. The owner sees the reason.
    """
    return _decided(project_id, "reject", body)


@bp.put("/projects/<id:project_id>/unpublish")
@admin_required
@documented(raises=(InvalidTransition, PreconditionFailed))
@operation(body=JsonBody(ReasonInput(), optional=True), answer=ProjectDetail())
def unpublish(project_id: int, body: dict[str, Any]) -> Any:
    """Take a live project down. It waits for its owner: an edit that changes something gives it back to the queue.

    Its votes and the time of its first publication stay. Waiting changes are deleted. The owner sees the reason.
    """
    return _decided(project_id, "unpublish", body)


def _decided(project_id: int, decision: str, body: dict[str, Any]) -> Any:
    reason, versions = body.get("reason"), versions_allowed()
    moderation.decide(project_id, decision, by=caller(), notify=subscribers(), reason=reason, versions=versions)
    return catalog.one(project_id, viewer=caller())


@bp.post("/projects/decisions")
@admin_required
@operation(body=JsonBody(DECISIONS), answer=DecisionList())
def decide(body: dict[str, Any]) -> Any:
    """Approve, reject, unpublish or delete up to a hundred projects at once.

    Each item of the answer has its own status. A project that has another version than the one given is not changed
    (412), so that a reviewer decides only about what they have seen. An approval or rejection that was made before is
    200, so that a request whose answer was lost can be sent again. Projects can be deleted in every state. The waiting
    changes of a live project are approved and rejected as a pending project is.
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
    if project is None:
        return outcome
    warned = {"warnings": [additions.OWNER_SUSPENDED]} if additions.is_of_suspended(project) else {}
    return {**outcome, "project": project, **warned}


@bp.get("/projects/<id:project_id>/history")
@admin_required
@operation(query=HistoryQuery(), answer=AuditPage(), tier="read")
def history(project_id: int, query: dict[str, Any]) -> Any:
    """List the events of a project, and of earlier submissions of its URL."""
    window = pagination.window(query)
    found = audit.history(project_id, window)
    return pagination.by_cursor(found, window)


@bp.get("/audit")
@admin_required
@operation(query=AuditQuery(), answer=AuditPage(), tier="read")
def log(query: dict[str, Any]) -> Any:
    """List the audit log, newest first."""
    filters = _log_filters(query)
    # Named, so that a cursor of an earlier version, whose position was of another form, is not one of this list.
    window = pagination.window(query, {"entries": filters})
    found = audit.entries(window, audit.Filters(**filters))
    return pagination.by_cursor(found, window)


@bp.get("/audit.csv")
@admin_required
@documented(media_types=("text/csv",), headers=("Content-Disposition",), optional_headers=("Link",))
@operation(query=AuditFileQuery(), tier="read")
def log_file(query: dict[str, Any]) -> Response:
    """Export the audit log as CSV, newest first.

    A part has at most 10,000 entries. While the log goes on, `Link` names the next part, which has no row of headings:
    all parts together are one file. Text that a spreadsheet would read as a formula gets an apostrophe before it.
    """
    filters = _log_filters(query)
    window = pagination.window({**query, "limit": log_files.ROWS_AT_ONCE}, {"entries": filters})
    text, next_part = log_files.part(window, audit.Filters(**filters))
    response = Response(text, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="log-{now():%Y-%m-%d}.csv"'
    if next_part is not None:
        response.headers["Link"] = pagination.next_link(next_part)
    return response


def _log_filters(query: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in query.items() if name not in {"limit", "cursor"}}


@bp.post("/categories")
@admin_required
@documented(headers=("Location",), raises=(Duplicate,))
@operation(body=JsonBody(CategoryInput()), answer=CategoryOutput(), status=201)
def add_category(body: dict[str, Any]) -> Any:
    """Add a category."""
    return categories.add(body, by=caller()), {"Location": f"/api/admin/categories/{body['slug']}"}


@bp.put("/categories/<slug:slug>")
@admin_required
@documented(raises=(Duplicate,))
@operation(body=JsonBody(CategoryInput(partial=True)), answer=CategoryOutput())
def change_category(slug: str, body: dict[str, Any]) -> Any:
    """Change a category.

    A slug that it had goes on leading to it: no other category may take it, and this one may take it back.
    """
    return categories.change(slug, body, by=caller())


@bp.delete("/categories/<slug:slug>")
@admin_required
@documented(raises=(CategoryInUse,))
@operation(status=204)
def remove_category(slug: str) -> Any:
    """Delete a category that no project uses."""
    categories.remove(slug, by=caller())


@bp.get("/projects/<id:project_id>/votes")
@admin_required
@operation(query=VotesQuery(), answer=VotePage(), tier="read")
def votes(project_id: int, query: dict[str, Any]) -> Any:
    """List the votes for a project, newest first, with signs of doubtful votes."""
    window = pagination.window(query)
    counted = {"true": True, "false": False}.get(query.get("counted", ""))
    found = vote_review.page(project_id, window, counted=counted)
    return {**pagination.by_cursor(found, window), "summary": vote_review.summary(project_id)}


@bp.get("/votes/doubtful")
@admin_required
@operation(query=DoubtfulQuery(), answer=DoubtfulList(), tier="read")
def doubtful_votes(query: dict[str, Any]) -> Any:
    """List the live projects whose recent votes look doubtful, the most doubtful first.

    It reads the newest 10,000 votes of the directory. The order is that of the number of doubtful votes times their
    share of the project's recent votes. Without a mail server nobody can confirm an address: then `unverified` does
    not make a vote doubtful.
    """
    signs = vote_review.RULES if configured_mail_server() else ("new_accounts", "single_owner")
    return {"items": vote_review.doubtful_projects(query["limit"], signs)}


@bp.post("/projects/<id:project_id>/votes/decisions")
@admin_required
@operation(body=JsonBody(VoteDecisionsInput()), answer=VotesDecided())
def decide_votes(project_id: int, body: dict[str, Any]) -> Any:
    """Discount votes for a project, or count them again.

    Users without a vote are skipped, and a decision that was made before changes nothing, so a retry is harmless. A
    voter who withdraws a discounted vote and votes again stays discounted for this project until `count`. The votes
    stay: voters still see them in `has_upvoted`.
    """
    return vote_review.decide(project_id, by=caller(), **body)
