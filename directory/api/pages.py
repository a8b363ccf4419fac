"""Pages for people outside the API: they pass over unknown parameters and are not in the OpenAPI document."""

from typing import Any

from flask import Blueprint, current_app, has_request_context, jsonify, request

from directory.api import feed, web
from directory.http.access import public
from directory.http.endpoint import operation, tag

bp = Blueprint("pages", __name__)

LINKS = {"documentation": "/api/docs", "openapi": "/api/openapi.json", "projects": "/api/projects", "feed": feed.PATH}


@bp.get("/")
@public
@operation(tier="read", page=True, etag=True, cache_tags=web.without_votes)
def home() -> Any:
    """Show the directory. A client that prefers JSON gets links in its place.

    Without the pages it is a short page with the same links. The cache asks for it without a request, and only for
    callers that do not ask for JSON.
    """
    if has_request_context() and _prefers_json():
        response = jsonify(name=current_app.config["SITE_NAME"], links=LINKS)
        response.vary.add("Accept")
        tag(response)
        return response
    html, headers = web.show(path="/") if current_app.config["WEB_ENABLED"] else web.unbuilt()
    return html, {**headers, "Vary": "Accept"}


def _prefers_json() -> bool:
    return request.accept_mimetypes.best_match(("text/html", "application/json")) == "application/json"
