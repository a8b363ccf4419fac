"""The pages that JavaScript fills over the API, the files that all pages load, and the one page of a service without.

Each is the same HTML for everybody: the API decides what a caller may see on it.
"""

from typing import Any

from flask import Blueprint, Flask, Response, current_app

from directory.http import files
from directory.http.access import public
from directory.http.endpoint import operation
from directory.http.files import StoredFile
from directory.pages.build import Build
from directory.pages.head import Head
from directory.pages.layout import PAGE, PageAnswer, bp, links_for_programs, shell, unbuilt

ASSETS = "/assets/<name>"
short = Blueprint("short", __name__)  # of a service without pages (WEB_ENABLED=false)


@bp.get("/admin")
@bp.get("/admin/queue")
@bp.get("/admin/queue/<id:project_id>")
@bp.get("/admin/projects")
@bp.get("/admin/users")
@bp.get("/admin/users/<id:user_id>")
@bp.get("/admin/categories")
@bp.get("/admin/deliveries")
@bp.get("/admin/audit")
@public
@operation(tier=None, page=True, etag=True, cache=PAGE)
def console_page(**_path: object) -> PageAnswer:
    """Show a page of the console."""
    return shell("console", Head("Console", indexed=False))


def find_asset(app: Flask, name: str) -> StoredFile | None:
    """The file of the pages of that name."""
    build: Build = app.extensions["web_build"]
    return build.assets.get(name)


@bp.get(ASSETS)
@public
@operation(tier=None, page=True)
def asset(name: str) -> Response:
    """Give a file of the pages. Its name changes with its content, so it may be stored for ever."""
    return files.respond(find_asset(current_app, name))


@short.get("/")
@public
@operation(tier="read", page=True, etag=True, cache=PAGE)
def home() -> Any:
    """Show what there is. A client that prefers JSON gets links in its place."""
    if (links := links_for_programs()) is not None:
        return links
    page, headers = unbuilt()
    return page, {**headers, "Vary": "Accept"}
