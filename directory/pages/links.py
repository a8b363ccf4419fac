"""The links that a client that prefers JSON gets in place of the directory."""

from flask import Response, current_app, jsonify

from directory.http import feed
from directory.http.client_address import prefers_json
from directory.http.endpoint import tag

LINKS = {"documentation": "/api/docs", "openapi": "/api/openapi.json", "projects": "/api/projects", "feed": feed.PATH}


def links_for_programs() -> Response | None:
    """The links that a client that prefers JSON gets at "/". None for all others."""
    if not prefers_json():
        return None
    response = jsonify(name=current_app.config["SITE_NAME"], links=LINKS)
    response.vary.add("Accept")
    tag(response)
    return response
