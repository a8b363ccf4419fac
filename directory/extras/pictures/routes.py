"""The routes of the pictures of a project."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint

from directory.api.schemas.projects import ProjectDetail
from directory.db.transactions import transaction
from directory.errors import NotOwner, PreconditionFailed, TooMany
from directory.extras.pictures import lists
from directory.http.access import owner_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.fields import NO_ID, Few, Line, Number, Strict, Within
from directory.http.project_lists import rules_of_edits
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody, Upload
from directory.services.catalog import catalog
from directory.services.pictures import logos, pictures
from directory.services.pictures.pictures import ALT_MAX, ID_MAX, PICTURES_MAX, MadePicture, PictureList
from directory.services.review import submissions

bp = Blueprint("pictures", __name__, url_prefix="/api/projects/<id:project_id>/pictures")


class PictureQuery(Strict):
    """The words of a new picture."""

    alt = Line(1, ALT_MAX, required=True, metadata={"description": "What the picture shows, in words."})


class PictureInput(PictureQuery):
    """Other words of a picture."""


class OrderInput(Strict):
    """The ids of all pictures of a project, in their new order."""

    order = Few(
        Number(validate=Within(1, ID_MAX, error=NO_ID)), 0, PICTURES_MAX, of="picture",
        required=True,
    )  # fmt: skip


@bp.post("")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed, TooMany))
@operation(
    query=PictureQuery(), body=Upload(("image/png", "image/jpeg", "image/webp")), answer=ProjectDetail(), status=201,
    tier="pictures", etag=True, transactional=False,
)  # fmt: skip
def add_picture(project_id: int, query: dict[str, Any], content: bytes) -> Any:
    """Add a picture to a project, after its others: a PNG, JPEG or WebP of at most 4 MiB.

    It is stored as WebP of at most 1,280 and of at most 640 pixels a side, in sRGB and without metadata. The limits of
    its size are those of a logo. A project can have five pictures. Each change of them is a change as any other: a
    rejected project goes back to the queue, and of a live one the list as it would be waits for review as a part of its
    `revision`.
    """
    converted = pictures.as_picture(content, by=caller().id)  # before the transaction: it takes a while
    transaction(lambda: add(project_id, converted, query["alt"]))
    return catalog.one(project_id, viewer=caller())


def add(project_id: int, converted: MadePicture, alt: str) -> None:
    """Add a picture to a project in the name of the caller."""
    picture = pictures.described(converted, logos.keep(converted.files, by=caller().id), alt)
    change(project_id, lambda shown: lists.with_one_more(shown, picture))


@bp.put("")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(body=JsonBody(OrderInput()), answer=ProjectDetail(), etag=True)
def order_pictures(project_id: int, body: dict[str, Any]) -> Any:
    """Put the pictures of a project into another order."""
    change(project_id, lambda shown: lists.ordered(shown, body["order"]))
    return catalog.one(project_id, viewer=caller())


@bp.put("/<id:picture_id>")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(body=JsonBody(PictureInput()), answer=ProjectDetail(), etag=True)
def describe_picture(project_id: int, picture_id: int, body: dict[str, Any]) -> Any:
    """Change the words of a picture."""
    change(project_id, lambda shown: lists.with_words(shown, picture_id, body["alt"]))
    return catalog.one(project_id, viewer=caller())


@bp.delete("/<id:picture_id>")
@owner_required
@documented(raises=(NotOwner, PreconditionFailed))
@operation(status=204, tier="pictures")
def delete_picture(project_id: int, picture_id: int) -> None:
    """Delete a picture of a project; of a live one after review, as its other changes."""
    change(project_id, lambda shown: lists.without(shown, picture_id))


def change(project_id: int, pictures: Callable[[PictureList], PictureList]) -> None:
    """Change the list of a project's pictures in the name of the caller, if it has one of the versions of If-Match."""
    terms = {**rules_of_edits(), "notify": subscribers(), "versions": versions_allowed()}
    submissions.edit(project_id, {}, by=caller(), pictures=pictures, **terms)
