"""Pages for people: the API's document rendered, and the meaning of each kind of problem.

All that they load comes from this service, so they work offline, and their policy allows nothing else.
"""

import hashlib
from functools import cache
from pathlib import Path

from flask import Response, render_template

from directory.http.endpoint import HTML, tag

_OWN = Path(__file__).resolve().parent.parent / "assets"
SWAGGER = {"swagger-ui.css": "text/css", "swagger-ui-bundle.js": "text/javascript", "favicon-32x32.png": "image/png"}
ASSETS = {**SWAGGER, "docs.js": "text/javascript", "pages.css": "text/css"}
MEDIA_TYPES = tuple(dict.fromkeys(ASSETS.values()))

_NOTHING_ELSE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
POLICY = f"{_NOTHING_ELSE}; style-src 'self'; img-src 'self'"
# Swagger UI sets styles on its elements, draws its icons from data, and calls the API that it shows.
SWAGGER_POLICY = (
    f"{_NOTHING_ELSE}; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'"
)


def page(template: str, policy: str, **facts: object) -> Response:
    """A page of a template, under a policy that names all that it may load."""
    text = render_template(template, assets=assets(), **facts)
    response = Response(text, content_type=HTML)
    response.headers["Content-Security-Policy"] = policy
    tag(response)
    return response


def _file(name: str) -> Path:
    if name not in SWAGGER:
        return _OWN / name
    import flask_swagger_ui

    return Path(flask_swagger_ui.__file__).parent / "dist" / name


@cache
def content(name: str) -> bytes:
    """A file's bytes, once for all answers, however slow their clients are."""
    return _file(name).read_bytes()


def assets() -> str:
    """The address of the files of the pages."""
    return f"/api/docs/{current_version()}"


@cache
def current_version() -> str:
    """The part of an asset's address that changes with the content of any."""
    digest = hashlib.sha256()
    for name in ASSETS:
        digest.update(_file(name).read_bytes())
    return digest.hexdigest()[:16]
