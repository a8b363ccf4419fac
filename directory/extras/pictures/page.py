"""The forms of a project's pictures, below the form of its edit."""

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response

from directory.db.transactions import transaction
from directory.errors import Invalid
from directory.extras.pictures import lists, routes
from directory.http import rate_limits
from directory.http.access import owner_required
from directory.http.authentication import viewer
from directory.http.fields import Line, Strict, Word
from directory.language.messages import _
from directory.pages.forms import BLANK, EMPTY, Form, same_as, see_other, shows
from directory.pages.layout import PageAnswer
from directory.pages.project_form import chosen
from directory.pages.sign_in_form import again
from directory.pages.submitting import edit_form, form_of
from directory.services.pictures import pictures
from directory.services.pictures.project_pictures import ALT_MAX, PICTURES_MAX, PictureList

bp = Blueprint("pages", __name__)
MOVES = {"words": 0, "earlier": -1, "later": 1}  # places by which a button moves a picture


class NewPictureForm(Strict):
    """The words of one more picture; the file is not a field."""

    alt = Line(1, ALT_MAX, required=True)


class PictureForm(Strict):
    """The words of a picture, and what becomes of it."""

    alt = Line(1, ALT_MAX)
    do = Word((*MOVES, "delete"), required=True)


def section() -> dict[str, Any]:
    """What the section shows, before a form of it was refused."""
    return {
        "of_picture": EMPTY, "picture_id": None, "none_typed": EMPTY, "pictures_max": PICTURES_MAX, "alt_max": ALT_MAX,
    }  # fmt: skip


def refused(form: Form, *, project_id: int, picture_id: int | None = None) -> PageAnswer:
    """The page of the form of an edit, with a form of a picture that was refused."""
    if viewer() is None:
        return again(form)
    return edit_form(project_id=project_id, of_picture=form, picture_id=picture_id)


@bp.post("/mine/<id:project_id>/pictures")
@shows(refused)
@owner_required
@replace(same_as(routes.add_picture, NewPictureForm(), ("picture",)), **form_of)
def add_picture(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Response:
    """Add a picture with its words to a project."""
    refusal = _("This file cannot be a picture here. {why}")
    made = chosen("picture", pictures.PICTURE_MAX, pictures.as_picture, refusal)
    if made is None:
        raise Invalid.field("picture", _("Choose a file."))
    transaction(lambda: routes.add(project_id, made, body["alt"]))
    return see_other(f"/mine/{project_id}/edit#pictures")


@bp.post("/mine/<id:project_id>/pictures/<id:picture_id>")
@shows(refused)
@owner_required
@replace(same_as(routes.describe_picture, PictureForm()), **form_of)
def change_picture(project_id: int, picture_id: int, query: dict[str, str], body: dict[str, Any]) -> Response:
    """Change the words of a picture, and move it with these words, or delete it."""
    does, alt = body["do"], body.get("alt", "")
    if does == "delete":
        rate_limits.hit("pictures")
    if not alt and does != "delete":
        raise Invalid.field("alt", BLANK)

    def changed(shown: PictureList) -> PictureList:
        if does == "delete":
            return lists.without(shown, picture_id)
        return lists.moved(lists.with_words(shown, picture_id, alt), picture_id, MOVES[does])

    transaction(lambda: routes.change(project_id, changed))
    return see_other(f"/mine/{project_id}/edit#pictures")
