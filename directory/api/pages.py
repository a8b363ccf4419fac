"""Pages for people outside the API: they pass over unknown parameters and are not in the OpenAPI document."""

from flask import Blueprint, Response, current_app, jsonify, request

from directory.api import docs, feed
from directory.http.access import public
from directory.http.endpoint import operation, tag

bp = Blueprint("pages", __name__)

LINKS = {"documentation": "/api/docs", "openapi": "/api/openapi.json", "projects": "/api/projects", "feed": feed.PATH}


@bp.get("/")
@public
@operation(tier="read", page=True)
def home() -> Response:
    """Say what this service is: a page with links, or the same as JSON to a client that prefers JSON."""
    name = current_app.config["SITE_NAME"]
    if request.accept_mimetypes.best_match(("text/html", "application/json")) == "application/json":
        response = jsonify(name=name, links=LINKS)
        tag(response)
    else:
        response = docs.page("home.html", docs.POLICY, name=name)
    response.vary.add("Accept")
    return response
