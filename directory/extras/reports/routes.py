"""The route by which visitors report a project, the reviewers' list of reports, and what the core tells and shows."""

import hmac
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from flask import Blueprint, Flask, current_app
from sqlalchemy import literal, select

from directory import events
from directory.db.paging import AnySelect
from directory.errors import EmailNotVerified, NotFound, OwnSubmission, ReportsSettled
from directory.extras.reports import reports
from directory.extras.reports.schemas import ReportGroup, ReportInput, ReportPage, ReportsQuery, SettlementInput
from directory.http import pagination
from directory.http.access import open_by, require_verified, reviewer_required
from directory.http.authentication import caller, viewer
from directory.http.client import client_address
from directory.http.endpoint import documented, operation
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.delivery.channels import MailServer
from directory.services.identity import Caller

bp = Blueprint("reports", __name__, url_prefix="/api/projects/<id:project_id>/reports")
review = Blueprint("review", __name__, url_prefix="/api/review")


def are_on() -> bool:
    """Whether anybody may report."""
    return bool(current_app.config["REPORTS"] != "off")


def require_reports(**_path: Any) -> None:
    """Raise NotFound while reports are off."""
    if not are_on():
        raise NotFound


def init_app(app: Flask) -> None:
    """Have the mail server want the outcomes of reports while they are on."""
    server: MailServer | None = app.extensions["mail_server"]
    if server is not None and app.config["REPORTS"] != "off":
        wanting = replace(server, events=server.events | {events.REPORT_SETTLED})
        app.extensions["mail_server"] = wanting
        app.extensions["webhooks"] = [
            wanting if endpoint is server else endpoint for endpoint in app.extensions["webhooks"]
        ]


def mail_acted(project_ids: Sequence[int], _by: Caller | None) -> None:
    """Mail the reporters of projects that leave the directory: triggers settle these reports as acted on."""
    if are_on():
        reports.mail_acted(project_ids, notify=subscribers())


def add_number(answers: list[dict[str, Any]], *, by: Caller) -> None:
    """Add how many projects have open reports to the summary of the queue."""
    number = reports.reported(by) if are_on() else None
    for answer in answers:
        answer["reports"] = number


def open_reports() -> AnySelect:
    """The statement that counts the open reports; none while reports are off."""
    return reports.number_open() if are_on() else select(literal(0))


@bp.post("")
@open_by("REPORTS")
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
    key = _address_key() if by is None else None
    reports.make(project_id, body["kind"], body.get("text") or "", by=by, address_key=key, notify=subscribers())


def _address_key() -> str:
    """A keyed hash of the caller's address, as limits count it: it identifies the caller without naming the address."""
    key = current_app.config["SECRET_KEY"].encode()
    return hmac.new(key, b"report:" + client_address().encode(), "sha256").hexdigest()


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
    page = reports.page(window, by=caller(), state=query["state"], kind=query.get("kind"))
    return pagination.by_cursor(page, window)


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
