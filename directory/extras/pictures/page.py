"""The forms of a project's pictures, below the form of its edit, and the fields of the first one of a submission."""

from dataclasses import replace
from typing import Any

from flask import Blueprint, Response

from directory.api import projects
from directory.db.transactions import transaction
from directory.errors import Invalid
from directory.extras.pictures import lists, routes
from directory.http import rate_limits
from directory.http.access import login_required, owner_required
from directory.http.authentication import viewer
from directory.http.fields import Line, Strict, Word
from directory.language.messages import _
from directory.pages.forms import BLANK, EMPTY, Form, same_as, see_other, shows
from directory.pages.layout import PageAnswer
from directory.pages.project_form import NewForm, chosen
from directory.pages.sign_in_form import again
from directory.pages.submitting import Added, edit_form, form_of, submit_form, submitted
from directory.services.pictures import pictures
from directory.services.pictures.pictures import ALT_MAX, PICTURES_MAX, MadePicture, PictureList

bp = Blueprint("pages", __name__)
SUBMIT = "/submit/pictures"
MOVES = {"words": 0, "earlier": -1, "later": 1}  # places by which a button moves a picture


class NewPictureForm(Strict):
    """The words of one more picture; the file is not a field."""

    alt = Line(1, ALT_MAX, required=True)


class PictureForm(Strict):
    """The words of a picture, and what becomes of it."""

    alt = Line(1, ALT_MAX)
    do = Word((*MOVES, "delete"), required=True)


class SubmissionForm(NewForm):
    """A submission, and the words of its first picture, whose file is not a field."""

    picture_alt = Line(1, ALT_MAX)


def fields() -> dict[str, Any]:
    """What the form of a submission has for its first picture: another address, too."""
    return {"submit_action": SUBMIT, "alt_max": ALT_MAX}


@bp.post(SUBMIT)
@shows(submit_form)
@login_required
@replace(same_as(projects.create, SubmissionForm(), ("logo", "picture")), **form_of)
def submit_with_picture(query: dict[str, str], body: dict[str, Any]) -> Response:
    """Submit a project for review, as /submit does, with a picture if one was chosen."""
    alt = body.pop("picture_alt", "")

    def prepared() -> Added:
        converted = _chosen_picture()
        if converted is None:
            return None
        if not alt:
            raise Invalid.field("picture_alt", BLANK)
        return lambda project_id: routes.add(project_id, converted, alt)

    return submitted(body, prepared)


def _chosen_picture() -> MadePicture | None:
    refusal = _("This file cannot be a picture here. {why}")
    return chosen("picture", pictures.PICTURE_MAX, pictures.as_picture, refusal)


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
    converted = _chosen_picture()
    if converted is None:
        raise Invalid.field("picture", _("Choose a file."))
    transaction(lambda: routes.add(project_id, converted, body["alt"]))
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
