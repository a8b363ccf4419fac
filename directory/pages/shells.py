"""The pages that JavaScript fills over the API, and the files that all pages load.

Each is the same HTML for everybody: the API decides what a caller may see on it.
"""

from flask import Response, current_app, request

from directory.api import docs
from directory.errors import NotFound
from directory.http.access import public
from directory.http.endpoint import operation
from directory.pages.build import Build
from directory.pages.head import Head
from directory.pages.layout import Answer, bp, shell, tags_of


@bp.get("/submit")
@public
@operation(tier=None, page=True, etag=True, cache_tags=tags_of)
def submit_page() -> Answer:
    """Show the form for a submission."""
    return shell("members", Head("Submit a project", path="/submit"))


@bp.get("/mine")
@bp.get("/account")
@public
@operation(tier=None, page=True, etag=True, cache_tags=tags_of)
def account_page() -> Answer:
    """Show a page of an account."""
    return shell("members", Head(indexed=False))


@bp.get("/admin")
@bp.get("/admin/queue")
@bp.get("/admin/queue/<id:project_id>")
@bp.get("/admin/projects")
@bp.get("/admin/projects/<id:project_id>")
@bp.get("/admin/users")
@bp.get("/admin/users/<id:user_id>")
@bp.get("/admin/categories")
@bp.get("/admin/deliveries")
@bp.get("/admin/audit")
@public
@operation(tier=None, page=True, etag=True, cache_tags=tags_of)
def console_page(**_path: int) -> Answer:
    """Show a page of the console."""
    return shell("console", Head(indexed=False))


@bp.get("/assets/<name>")
@public
@operation(tier=None, page=True)
def asset(name: str) -> Response:
    """Give a file of the pages. Its name changes with its content, so it may be stored for ever."""
    build: Build = current_app.extensions["web_build"]
    found = build.assets.get(name)
    if found is None:
        raise NotFound
    is_compressed = request.accept_encodings["gzip"] > 0
    response = Response(found.compressed if is_compressed else found.content, content_type=found.media_type)
    response.headers["Cache-Control"] = docs.FOREVER
    response.vary.add("Accept-Encoding")
    if is_compressed:
        response.headers["Content-Encoding"] = "gzip"
    return response
