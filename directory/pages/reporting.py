"""The form that reports a project, on a page of its own: the project's page has the same form."""

from typing import Any

from directory.api import reports
from directory.errors import NotFound
from directory.http.access import reporter_required, require_reports
from directory.http.authentication import viewer
from directory.http.endpoint import operation
from directory.language.messages import _
from directory.models import Status
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, bp, show
from directory.pages.report_words import KINDS
from directory.pages.sign_in_form import again, asks_to_sign_in
from directory.services.catalog import catalog


def report_form(project_id: int, form: Form = EMPTY, *, is_sent: bool = False) -> PageAnswer:
    """The form, or after it was sent the thanks. Raises NotFound unless the project is live."""
    if form.code == "unauthenticated":
        return again(form)
    project = catalog.one(project_id, viewer=viewer())
    if project["status"] != Status.LIVE:
        raise NotFound
    head = Head(_("Report {title}", title=project["title"]), indexed=False)
    here = f"/report/{project_id}"
    page, headers = show("report.html", head, here=here, form=form, project=project, kinds=KINDS, is_sent=is_sent)
    return page, {**headers, **NO_STORE}


@bp.get("/report/<id:project_id>")
@asks_to_sign_in
@reporter_required
@operation(tier="read", page=True, parameters=True, when=require_reports)
def report_page(project_id: int, query: dict[str, str]) -> PageAnswer:
    """Show the form that reports a project, or with `sent=1` that the report has come."""
    return report_form(project_id, is_sent=query.get("sent") == "1")


@bp.post("/report/<id:project_id>")
@shows(report_form)
@reporter_required
@same_as(reports.create)
def report(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Report a project, and say thanks."""
    reports.create.view(project_id=project_id, body=body)  # type: ignore[attr-defined]
    return see_other(f"/report/{project_id}?sent=1")
