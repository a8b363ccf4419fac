"""The first page of a service without pages (WEB_ENABLED=false): for people, with links to what there is."""

from typing import Any

from flask import Blueprint

from directory.http.access import public
from directory.http.endpoint import operation
from directory.pages.layout import PAGE, links_for_programs, unbuilt

bp = Blueprint("short", __name__)


@bp.get("/")
@public
@operation(tier="read", page=True, etag=True, cache=PAGE)
def home() -> Any:
    """Show what there is. A client that prefers JSON gets links in its place."""
    if (links := links_for_programs()) is not None:
        return links
    page, headers = unbuilt()
    return page, {**headers, "Vary": "Accept"}
