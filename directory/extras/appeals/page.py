"""The form of an appeal on the page of a member's own project."""

from typing import Any

from flask import Blueprint

from directory.extras.appeals import appeals, routes
from directory.http.access import own_required
from directory.http.authentication import viewer
from directory.language.messages import _
from directory.pages.forms import EMPTY, Form, same_as, see_other, shows
from directory.pages.layout import PageAnswer, address_with
from directory.pages.mine import HERE, own_project
from directory.pages.sign_in_form import again
from directory.services import permissions

bp = Blueprint("pages", __name__)
SAID = {"appealed": ("thread", _("Your appeal is sent. Another reviewer will look at the decision."))}


def section(project: dict[str, Any]) -> dict[str, Any]:
    """What the section shows: the form, where the owner may appeal."""
    is_owner = permissions.owns(viewer(), project["owner"]["id"])
    may_appeal = is_owner and routes.are_on() and appeals.is_possible(project["id"])
    return {"may_appeal": may_appeal, "appeal_form": EMPTY}


def own_project_appeal(project_id: int, form: Form) -> PageAnswer:
    """The page of a project whose owner appeals, with that form."""
    return again(form) if viewer() is None else own_project(project_id, may_appeal=True, appeal_form=form)


@bp.post("/mine/<id:project_id>/appeal")
@shows(own_project_appeal)
@own_required
@same_as(routes.appeal)
def appeal(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Ask for another look at the last decision."""
    routes.appeal.view(project_id=project_id, body=body)  # type: ignore[attr-defined]
    return see_other(address_with(f"{HERE}/{project_id}", done="appealed") + "#thread")
