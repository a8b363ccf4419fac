"""The form that reports a project, on its page and on one of its own; a member's own reports; the console's page."""

from typing import Any

from flask import Blueprint

from directory.db.paging import Window
from directory.errors import NotFound
from directory.extras.reports import reports, routes
from directory.extras.reports.routes import are_on, require_reports
from directory.http.access import open_by
from directory.http.authentication import viewer
from directory.http.endpoint import operation
from directory.language.messages import _
from directory.models import Status
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, show
from directory.pages.mine import SIZE, show_list
from directory.pages.shells import console_page
from directory.pages.sign_in_form import again, asks_to_sign_in
from directory.services import permissions
from directory.services.catalog import catalog
from directory.services.identity import Caller

bp = Blueprint("pages", __name__)
bp.add_url_rule("/admin/reports", view_func=console_page)
KINDS = {
    "broken_link": _("The link does not work"),
    "spam": _("It is advertising or spam"),
    "harmful": _("It is harmful or against the law"),
    "wrong_facts": _("Something that it says is wrong"),
    "mine": _("It is mine, and I did not submit it"),
    "other": _("Something else"),
}
OUTCOMES = {None: _("Open"), "acted": _("Acted on"), "unfounded": _("No reason to act")}


def of_project(project: dict[str, Any], by: Caller | None) -> dict[str, Any]:
    """The kinds of reports that the caller may choose on the page of a project; None where there is no form."""
    may_report = are_on() and project["status"] == Status.LIVE and not permissions.owns(by, project["owner"]["id"])
    return {"kinds": KINDS if may_report else None, "no_form": EMPTY}


def own_reports(by: Caller, number: int) -> PageAnswer:
    """The caller's reports, with their outcomes. Raises NotFound for no page."""
    page = reports.own(by, Window(SIZE, page=number))
    values = {"reports": page.items, "kinds": KINDS, "outcomes": OUTCOMES}
    return show_list("own_reports.html", _("Your reports"), {"reports": "1"}, number, page, by=by, **values)


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
@open_by("REPORTS")
@operation(tier="read", page=True, parameters=True, when=require_reports)
def report_page(project_id: int, query: dict[str, str]) -> PageAnswer:
    """Show the form that reports a project, or with `sent=1` that the report has come."""
    return report_form(project_id, is_sent=query.get("sent") == "1")


@bp.post("/report/<id:project_id>")
@shows(report_form)
@open_by("REPORTS")
@same_as(routes.create)
def report(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Report a project, and say thanks."""
    routes.create.view(project_id=project_id, body=body)  # type: ignore[attr-defined]
    return see_other(f"/report/{project_id}?sent=1")
