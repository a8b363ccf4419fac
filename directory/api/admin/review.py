"""The administrators' routes for the log, the categories, and the votes."""

from typing import Any

from flask import Response

from directory.api.blueprints import admin as bp
from directory.api.schemas.audit import AuditFileQuery, AuditPage, AuditQuery
from directory.api.schemas.site import CategoryInput, CategoryOutput
from directory.api.schemas.votes import (
    DoubtfulPage,
    DoubtfulQuery,
    VoteDecisionsInput,
    VotePage,
    VotesDecided,
    VotesQuery,
)
from directory.db.paging import Slice
from directory.errors import CategoryInUse, Duplicate
from directory.http import log_files, pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import configured_mail_server
from directory.http.validation import JsonBody
from directory.models import now
from directory.services import audit
from directory.services.catalog import catalog, categories
from directory.services.review import thread
from directory.services.votes import vote_review


@bp.delete("/messages/<id:message_id>")
@admin_required
@operation(status=204)
def erase_message(message_id: int) -> None:
    """Empty the text of an entry in the thread of a project. The entry stays, with its time and its author."""
    thread.erase(message_id, by=caller())


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


@bp.get("/projects/doubtful")
@admin_required
@documented(headers=("Link",))
@operation(query=DoubtfulQuery(), answer=DoubtfulPage(), tier="read")
def doubtful_votes(query: dict[str, Any]) -> Any:
    """List the live projects whose recent votes look doubtful, the most doubtful first.

    It reads the newest 5,000 votes of the directory. The order is that of the number of doubtful votes times their
    share of the project's recent votes. Without a mail server nobody can confirm an address: then `unverified` does
    not make a vote doubtful.
    """
    window = pagination.window(query)
    found = vote_review.doubtful_projects(vote_review.RULES if configured_mail_server() else vote_review.WITHOUT_MAIL)
    part = found[window.skipped : window.skipped + window.limit]
    projects = catalog.many([each["id"] for each in part], viewer=caller())
    items = [projects[each["id"]] | each for each in part if each["id"] in projects]
    paging = pagination.numbered(Slice(items, None, None), window, len(found))
    return {"items": items, "pagination": paging}, {"Link": pagination.links(paging)}


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
