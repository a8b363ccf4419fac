"""The page of all picks, and the shelf of the latest on the first page."""

from typing import Any

from flask import Blueprint

from directory.extras.picks import picks
from directory.http.access import public
from directory.language.messages import _
from directory.pages import head
from directory.pages.layout import PageAnswer, address_with, page_view
from directory.pages.paged_lists import show_list
from directory.services.catalog import front
from directory.services.catalog.filters import Filters
from directory.services.identity import Caller

bp = Blueprint("pages", __name__)
PATH, TITLE, INTRO = "/picked", _("Picked"), _("What the reviewers recommend, and why; the latest first.")


def shelf(by: Caller | None) -> dict[str, Any]:
    """The shelf of the latest picks, if there are enough."""
    projects = picks.latest(viewer=by)
    return {"shelf": front.Shelf("picked", TITLE, PATH, projects) if len(projects) >= front.FEW else None}


def listed() -> dict[str, Any]:
    """The page, by its path."""
    return {PATH: TITLE}


@bp.get(PATH)
@public
@page_view
def picked(query: dict[str, str]) -> PageAnswer:
    """Show the picks with their words, the latest first."""
    feeds = [head.Feed(TITLE, address_with(head.NEW.path, picked="true")), head.NEW]
    filters = Filters(status="live", picked="true")
    return show_list("picked.html", TITLE, INTRO, PATH, query, filters, "picked", feeds=feeds)
