"""The page of all picks, and the shelf of the latest on the first page."""

from typing import Any

from flask import Blueprint

from directory.db.paging import Window
from directory.errors import NotFound
from directory.extras.picks import picks
from directory.http.access import public
from directory.http.authentication import viewer
from directory.http.pagination import DEPTH
from directory.http.project_lists import page_tags
from directory.language.messages import _
from directory.pages import head
from directory.pages.layout import PageAnswer, address_with, here, page_number, page_view, show
from directory.services.catalog import catalog, front
from directory.services.catalog.filters import Filters
from directory.services.identity import Caller

bp = Blueprint("pages", __name__)
SIZE = 20
PATH, TITLE, INTRO = "/picked", _("Picked"), _("What the reviewers recommend, and why; the latest first.")


def shelf(by: Caller | None) -> dict[str, Any]:
    """The shelf of the latest picks, if there are enough."""
    projects = picks.latest(viewer=by)
    return {"shelf": front.Shelf("picked", TITLE, PATH, projects) if len(projects) >= front.FEW else None}


@bp.get(PATH)
@public
@page_view
def picked(query: dict[str, str]) -> PageAnswer:
    """Show the picks with their words, the latest first."""
    page = page_number(query)
    if page * SIZE > DEPTH:
        raise NotFound
    filters = Filters(status="live", picked="true")
    found = catalog.page(filters, "picked", Window(SIZE, page=page), viewer=viewer())
    pages = min(-(-(found.total or 0) // SIZE), DEPTH // SIZE)
    if page > max(1, pages):
        raise NotFound
    about = head.Head(
        head.paged(TITLE, page),
        INTRO,
        _address(page),
        previous=_address(page - 1) if page > 1 else "",
        next=_address(page + 1) if page < pages else "",
        feeds=[head.Feed(TITLE, address_with(head.NEW.path, picked="true")), head.NEW],
        data=[
            head.item_list(found.items, here(), (page - 1) * SIZE + 1),
            head.breadcrumbs(here(), (TITLE, PATH)),
        ],
    )
    tags = page_tags({"items": found.items, "pagination": {"page": page}}, {"sort": "picked"})
    return show(
        "picked.html", about, tags=tags, title=TITLE, intro=INTRO, projects=found.items, found=found, page=page,
        pages=pages,
    )  # fmt: skip


def _address(page: int) -> str:
    return address_with(PATH, page=page if page > 1 else None)
