"""Logos of projects, and the pictures themselves."""

import re
from typing import Any

from flask import Blueprint, Response, current_app

from directory.api.projects import bp as projects
from directory.api.projects import subscribers
from directory.api.schemas.projects import ProjectDetail
from directory.db.transactions import transaction
from directory.errors import NotFound, NotOwner, PreconditionFailed
from directory.http.access import owner_required, public
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.validation import Upload
from directory.services import logos, pictures, submissions
from directory.services.catalog import catalog

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
    made = pictures.as_logo(content)  # before the transaction: it takes a while
    versions = versions_allowed()
    transaction(lambda: _change(project_id, made, versions))
    return catalog.one(project_id, viewer=caller())


@projects.delete("/<id:project_id>/logo")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(status=204)
def remove_logo(project_id: int) -> None:
    """Remove the logo of a project; of a live one after review, as its other changes."""
    _change(project_id, None, versions_allowed())


def _change(project_id: int, made: tuple[bytes, bytes] | None, versions: Any) -> None:
    submissions.edit(
        project_id,
        {"logo": None if made is None else logos.store(made)},
        by=caller(),
        review_on_edit=current_app.config["REVIEW_ON_EDIT"],
        notify=subscribers(),
        versions=versions,
    )


@bp.get("/<name>.webp")
@public
@operation(tier="read", page=True)
def picture(name: str) -> Response:
    """Give a picture. Its name is its content's, so it may be stored for ever, and other sites may show it."""
    if not DIGEST.fullmatch(name):
        raise NotFound
    response = Response(logos.picture(name), content_type="image/webp")
    response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    return response
