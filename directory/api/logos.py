"""The pictures of logos."""

import re

from flask import Blueprint, Response

from directory.errors import NotFound
from directory.http.access import for_other_sites, public
from directory.http.endpoint import operation
from directory.http.files import FOREVER
from directory.services.pictures import logos

bp = Blueprint("images", __name__, url_prefix="/images")
DIGEST = re.compile("[0-9a-f]{64}")


@bp.get("/<name>.webp")
@public
@operation(tier="read", page=True)
def picture(name: str) -> Response:
    """Give a picture. Its name is its content's, so it may be stored for ever, and other sites may show it."""
    if not DIGEST.fullmatch(name):
        raise NotFound
    response = Response(logos.picture(name), content_type="image/webp")
    response.headers["Cache-Control"] = FOREVER
    response.headers.update(for_other_sites())
    return response
