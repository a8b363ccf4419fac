"""What pages show of links, the button that takes a moved address over, and the one that fills the form in."""

from collections.abc import Mapping
from typing import Any

from flask import Blueprint, Response
from marshmallow import EXCLUDE, ValidationError

from directory.errors import Invalid
from directory.extensions import db
from directory.extras.links import routes
from directory.extras.links.states import instant
from directory.http.access import login_required, own_required
from directory.http.authentication import viewer
from directory.http.endpoint import operation
from directory.http.exchange import current
from directory.http.validation import FormBody
from directory.language.messages import _
from directory.pages.forms import EMPTY, NO_STORE, Form, same_as, see_other, shows
from directory.pages.layout import PageAnswer, address_with, with_page
from directory.pages.mine import HERE, own_project
from directory.pages.project_form import LABELS, TextForm, TypedLink
from directory.pages.sign_in_form import again
from directory.pages.submitting import submit_form
from directory.services.catalog.additions import LINKS
from directory.services.identity import Caller

bp = Blueprint("pages", __name__)
SAID = {"moved": ("links", _("The new address is taken over. If it needs a review, it is shown after that."))}
_typed_link = TypedLink(required=True)


def facts(project: Mapping[str, Any], _by: Caller | None) -> dict[str, Any]:
    """What the page of a project shows of its links in addition to the project."""
    pushed_at = (project["repository"] or {}).get("pushed_at")
    return {"pushed_at": pushed_at and instant(pushed_at)}


def section(project: Mapping[str, Any]) -> dict[str, Any]:
    """What the page of a member's own project shows: its links that are dead or have moved."""
    seen = [(name, (project["links"] or {}).get(name)) for name in LINKS]
    shown = [
        {**look, "field": name, "label": LABELS[name], "since": instant(look["since"])}
        for name, look in seen
        if look is not None and (look["dead"] or look["state"] == "moved")
    ]
    return {"seen_links": shown, "links_form": EMPTY}


def button() -> dict[str, Any]:
    """Whether the form of a submission can be filled in."""
    return {"reads_websites": db.shows_links}


def not_taken_over(project_id: int, form: Form) -> PageAnswer:
    """The page of a project, with the reason why its address stays."""
    return again(form) if viewer() is None else own_project(project_id, links_form=form)


@bp.post("/mine/<id:project_id>/links/moved")
@shows(not_taken_over)
@own_required
@same_as(routes.take_over)
def take_over(project_id: int, query: dict[str, str], body: dict[str, Any]) -> Any:
    """Change the website or the repository to where it has moved."""
    routes.take_over.view(project_id=project_id, body=body)  # type: ignore[attr-defined]
    return see_other(address_with(f"{HERE}/{project_id}", done="moved"))


@bp.post("/submit/fill")
@shows(submit_form)
@login_required
@operation(
    body=FormBody(TextForm(unknown=EXCLUDE), files=("logo", "picture")), tier="preview", transactional=False,
    page=True, parameters=True,
    when=routes.require_links,
)  # fmt: skip
def fill(query: dict[str, str], body: dict[str, Any]) -> Response:
    """Show the form of a submission with what the website says in its empty fields. Nothing is sent or overwritten."""
    try:
        values = routes.previewed(str(_typed_link.deserialize(body.get("url"))))
    except ValidationError as error:
        raise Invalid.field("url", error.messages[0]) from None
    typed = current().typed or {}
    said = {name: text for name, text in values.items() if text is not None and not typed.get(name, "").strip()}
    outcome = _("Filled in. Look at each field.") if said else _("The website says nothing for the empty fields.")
    form = Form({**typed, **said}, problem=outcome, code="filled", has_file=bool(current().files))
    answer = with_page(Response(), submit_form(form))
    answer.headers.update(NO_STORE)
    return answer
