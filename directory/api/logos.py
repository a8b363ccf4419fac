"""Logos of projects, and the pictures themselves."""

import re
from typing import Any

from flask import Blueprint, Response

from directory.api.projects import bp as projects
from directory.api.projects import edit
from directory.api.schemas.projects import ProjectDetail
from directory.db.transactions import transaction
from directory.errors import NotFound, NotOwner, PreconditionFailed
from directory.http.access import owner_required, public
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.files import FOREVER
from directory.http.validation import Upload
from directory.services.catalog import catalog
from directory.services.pictures import logos, pictures

bp = Blueprint("images", __name__, url_prefix="/images")
DIGEST = re.compile("[0-9a-f]{64}")


@projects.put("/<id:project_id>/logo")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(
    body=Upload(("image/png", "image/jpeg", "image/webp")), answer=ProjectDetail(), etag=True, transactional=False,
)  # fmt: skip
def upload_logo(project_id: int, content: bytes) -> Any:
    """Set the logo of a project: a PNG, JPEG or WebP picture of at most 1 MiB.

    It is stored as WebP of 64 and of 256 pixels a side, without metadata, whole and on a transparent ground where it is
    not square. At most 4,096 pixels wide and high; a WebP of at most 5 million pixels, for its decoder takes much
    memory. It is a change as any other: a rejected project goes back to the queue, and of a live one it waits for
    review as a part of its `revision`.
    """
    made = pictures.as_logo(content, by=caller().id)  # before the transaction: it takes a while
    versions = versions_allowed()
    transaction(lambda: edit(project_id, {"logo": logos.store(made)}, versions))
    return catalog.one(project_id, viewer=caller())


@projects.delete("/<id:project_id>/logo")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(status=204)
def remove_logo(project_id: int) -> None:
    """Remove the logo of a project; of a live one after review, as its other changes."""
    edit(project_id, {"logo": None}, versions_allowed())


@bp.get("/<name>.webp")
@public
@operation(tier="read", page=True)
def picture(name: str) -> Response:
    """Give a picture. Its name is its content's, so it may be stored for ever, and other sites may show it."""
    if not DIGEST.fullmatch(name):
        raise NotFound
    response = Response(logos.picture(name), content_type="image/webp")
    response.headers["Cache-Control"] = FOREVER
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
