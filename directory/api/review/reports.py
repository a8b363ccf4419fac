"""The reviewers' list of reports, and how reports are settled."""

from typing import Any

from directory.api.blueprints import review
from directory.api.schemas.reports import ReportGroup, ReportPage, ReportsQuery, SettlementInput
from directory.errors import NotFound, OwnSubmission, ReportsSettled
from directory.http import pagination
from directory.http.access import require_reports, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.review import reports


@review.get("/reports")
@reviewer_required
@documented(raises=(NotFound,))
@operation(query=ReportsQuery(), answer=ReportPage(), tier="read", when=require_reports)
def list_reports(query: dict[str, Any]) -> Any:
    """List the reports about the projects of the reviewer's categories, by project.

    Open ones begin with the project that was reported first, settled ones with the one that was settled last. Open
    reports of a suspended member are left out until the account is active again. There are none about a project that
    was deleted. Only administrators see who has reported.
    """
    window = pagination.window(query)
    found = reports.page(window, by=caller(), state=query["state"], kind=query.get("kind"))
    return pagination.by_cursor(found, window)


def _require_settleable(project_id: int) -> None:
    require_reports()
    reports.require_settleable(project_id, by=caller())


@review.put("/reports/<id:project_id>/settle")
@reviewer_required
@documented(raises=(NotFound, OwnSubmission, ReportsSettled))
@operation(body=JsonBody(SettlementInput()), answer=ReportGroup(), when=_require_settleable)
def settle_reports(project_id: int, body: dict[str, Any]) -> Any:
    """Settle the open reports about a project: they were acted on, or unfounded.

    Members who have reported it see the outcome and the reply at `/mine`, and get them by mail. The same outcome again
    changes nothing. Nobody settles reports about their own project while somebody else may. Unpublishing or deleting a
    project settles its reports as `acted`.
    """
    reply = body.get("reply") or None
    reports.settle(project_id, body["outcome"], reply, by=caller(), notify=subscribers())
    return reports.of_project(project_id, by=caller())
