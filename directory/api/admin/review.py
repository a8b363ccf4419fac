"""The administrators' routes for the log, the categories, and messages."""

from typing import Any

from flask import Response

from directory.api.blueprints import admin as bp
from directory.api.schemas.audit import AuditFileQuery, AuditPage, AuditQuery
from directory.api.schemas.site import CategoryInput, CategoryOutput
from directory.errors import CategoryInUse, Duplicate
from directory.http import log_files, pagination
from directory.http.access import admin_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.validation import JsonBody
from directory.models import now
from directory.services import audit
from directory.services.catalog import categories
from directory.services.review import thread


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
    page = audit.entries(window, audit.Filters(**filters))
    return pagination.by_cursor(page, window)


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
