"""A member's own projects, by state; one of them with its timeline; and the projects that the member voted for."""

from flask import current_app

from directory.db.paging import Window
from directory.errors import NotFound
from directory.http.access import login_required, owner_required
from directory.http.authentication import caller
from directory.http.endpoint import operation
from directory.http.pagination import DEPTH
from directory.models import Status
from directory.pages.badge_drawing import snippet
from directory.pages.forms import NO_STORE
from directory.pages.head import Head
from directory.pages.layout import PageAnswer, address_with, bp, here, page_number, show
from directory.pages.project_words import EVENTS, FIELDS, revised
from directory.pages.report_words import KINDS, OUTCOMES
from directory.pages.sign_in_form import asks_to_sign_in
from directory.services import audit
from directory.services.catalog import additions, catalog
from directory.services.identity import Caller
from directory.services.review import reports

HERE = "/mine"
SIZE = 20
TABS = {"": "All", Status.PENDING: "In review", Status.LIVE: "Live", Status.REJECTED: "Rejected"}
SAID = {"deleted": "The project is deleted."}
# What the page of a project says after the form of a submission or an edit was accepted.
SENT = {
    "submitted": "{title} is sent. A reviewer will look at it.",
    "saved": "Your changes are saved.",
    "review": "Your changes are sent. A reviewer will look at them.",
}
own_page = operation(tier="read", page=True, parameters=True)


@bp.get(HERE)
@asks_to_sign_in
@login_required
@own_page
def own_projects_page(query: dict[str, str]) -> PageAnswer:
    """Show the caller's projects, or with `upvoted=1` those that the caller voted for. Raises NotFound for no page."""
    by, number = caller(), page_number(query)
    if query.get("reports") == "1" and _has_reports():
        return _own_reports(by, number)
    is_voted = query.get("upvoted") == "1"
    status = query["status"] if not is_voted and query.get("status") in TABS else ""
    if number * SIZE > DEPTH:
        raise NotFound
    scope = {"upvoted": "me", "owner": None} if is_voted else {"owner": "me"}
    filters = catalog.public_scope(viewer=by, status=status or None, **scope)
    found = catalog.page(filters, "newest", Window(SIZE, page=number), viewer=by)
    pages = max(1, -(-(found.total or 0) // SIZE))
    if number > pages:
        raise NotFound
    if not is_voted:
        additions.add_queue_positions(found.items)
    chosen = {"upvoted": "1"} if is_voted else {"status": status}
    previous, next_ = _beside(chosen, number, pages)
    page, headers = show(
        "mine.html", Head("Your projects", indexed=False, previous=previous, next=next_), entry="forms",
        here=_address(chosen, number), projects=found.items, page=number, pages=pages, tabs=TABS, status=status,
        is_voted=is_voted, counts=additions.counts({by.id})[by.id], said=SAID.get(query.get("done", "")),
        has_reports=_has_reports(),
    )  # fmt: skip
    return page, {**headers, **NO_STORE}


def _has_reports() -> bool:
    return bool(current_app.config["REPORTS"] != "off")


def _own_reports(by: Caller, number: int) -> PageAnswer:
    """The caller's reports, with their outcomes. Raises NotFound for no page."""
    if number * SIZE > DEPTH:
        raise NotFound
    found = reports.own(by, Window(SIZE, page=number))
    pages = max(1, -(-(found.total or 0) // SIZE))
    if number > pages:
        raise NotFound
    previous, next_ = _beside({"reports": "1"}, number, pages)
    page, headers = show(
        "own_reports.html", Head("Your reports", indexed=False, previous=previous, next=next_), entry="forms",
        here=_address({"reports": "1"}, number), reports=found.items, page=number, pages=pages, tabs=TABS, status="",
        counts=additions.counts({by.id})[by.id], kinds=KINDS, outcomes=OUTCOMES, has_reports=True,
    )  # fmt: skip
    return page, {**headers, **NO_STORE}


def _address(chosen: dict[str, str], number: int) -> str:
    """The address of a page of a list."""
    return address_with(HERE, **chosen, page=number if number > 1 else "")


def _beside(chosen: dict[str, str], number: int, pages: int) -> tuple[str, str]:
    """The addresses of the pages before and after one of so many."""
    previous = _address(chosen, number - 1) if number > 1 else ""
    return previous, _address(chosen, number + 1) if number < min(pages, DEPTH // SIZE) else ""


@bp.get("/mine/<id:project_id>")
@asks_to_sign_in
@owner_required
@own_page
def own_project_page(project_id: int, query: dict[str, str]) -> PageAnswer:
    """Show a project to its owner and administrators: its state, what can be done about it, and its timeline."""
    project = catalog.one(project_id, viewer=caller())
    events = audit.timeline(project_id, Window(100, page=None), naming_fields=True).items
    shown = snippet(project, here()) if project["status"] == "live" else None
    said = SENT.get(query.get("done", ""), "").format(title=project["title"])
    page, headers = show(
        "mine_project.html", Head(project["title"], indexed=False), here=f"{HERE}/{project_id}", entry="forms",
        project=project, events=events, event_names=EVENTS, labels=FIELDS, revised=revised(project), said=said,
        badge=shown,
    )  # fmt: skip
    return page, {**headers, **NO_STORE}
