"""The route by which visitors report a project."""

from typing import Any

from flask import Blueprint

from directory.api.schemas.reports import ReportInput
from directory.errors import EmailNotVerified, NotFound
from directory.http.access import reporter_required, require_reports, require_verified
from directory.http.authentication import viewer
from directory.http.endpoint import documented, operation
from directory.http.rate_limits import address_key
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.review import reports

bp = Blueprint("reports", __name__, url_prefix="/api/projects/<id:project_id>/reports")


@bp.post("")
@reporter_required
@documented(raises=(NotFound, EmailNotVerified))
@operation(body=JsonBody(ReportInput()), status=202, tier="reports", personal=True, when=require_reports)
def create(project_id: int, body: dict[str, Any]) -> None:
    """Report a live project to the reviewers.

    Each caller has at most one open report about a project: the kind and the text of a second one take the place of the
    first's, with the same answer. Where a project has a thousand open reports of anonymous callers, one more takes the
    place of the newest. A report hides nothing by itself. Members see at `/mine` how theirs was settled. Where it was
    unfounded, and the project has not changed since, the same member's next one has the same answer and is shown to
    nobody.
    Whether anonymous callers may report, or members alone, or nobody, is the operator's choice: REPORTS.
    """
    by = viewer()
    if by is not None:
        require_verified("submit")
    key = address_key() if by is None else None
    reports.make(project_id, body["kind"], body.get("text") or "", by=by, address_key=key, notify=subscribers())
