"""The routes that take over where a link leads that has moved, and the one that reads a website for a submission."""

from typing import Any

from flask import Blueprint, current_app

from directory.api.review.projects import after_decision
from directory.api.schemas.projects import ProjectDetail
from directory.api.schemas.review import ReviewedProject
from directory.errors import Duplicate, LinkNotMoved, LinksBusy, LinksOff, OwnSubmission, PreconditionFailed
from directory.extensions import db
from directory.extras.links import moving, schedule
from directory.extras.links.schemas import MovedInput, PreviewInput, PreviewOutput
from directory.http.access import decides, login_required, own_required, reviewer_required
from directory.http.authentication import caller
from directory.http.endpoint import documented, operation, versions_allowed
from directory.http.project_lists import rules_of_edits
from directory.http.receivers import subscribers
from directory.http.validation import JsonBody
from directory.services.catalog import catalog

bp = Blueprint("links", __name__, url_prefix="/api")
review = Blueprint("review", __name__, url_prefix="/api/review")


def require_links(**_path: Any) -> None:
    """Raise LinksOff while no links are looked at."""
    if not db.shows_links:
        raise LinksOff


@bp.post("/links/preview")
@login_required
@documented(raises=(LinksOff, LinksBusy))
@operation(
    body=JsonBody(PreviewInput()), answer=PreviewOutput(), tier="preview", transactional=False, when=require_links,
)  # fmt: skip
def preview(body: dict[str, Any]) -> Any:
    """Read the website or the repository of a project for the form of its submission.

    It takes up to five seconds, and as long if the address cannot be read, whatever the reason.
    """
    return previewed(body["url"])


def previewed(url: str) -> dict[str, Any]:
    """What is at a checked address. Raises Invalid, LinksBusy."""
    from directory.extras.links import forges, worker  # they load `requests`, which a server needs for this alone
    from directory.extras.links import preview as reading

    app = current_app._get_current_object()  # type: ignore[attr-defined]
    return reading.of(url, worker.asking_of(app), forges.configured(app.config["FORGES"]))


@bp.put("/projects/<id:project_id>/links/moved")
@own_required
@documented(raises=(LinkNotMoved, PreconditionFailed, Duplicate))
@operation(body=JsonBody(MovedInput()), answer=ProjectDetail(), etag=True)
def take_over(project_id: int, body: dict[str, Any]) -> Any:
    """Change the website or the repository to where it has moved, by an edit as any other.

    If the change needs review, a live project keeps its address until it is approved.
    """
    moving.by_owner(project_id, **body, by=caller(), **_given(), **rules_of_edits())
    return catalog.one(project_id, viewer=caller())


@review.put("/projects/<id:project_id>/links/moved")
@reviewer_required
@decides
@documented(raises=(LinkNotMoved, OwnSubmission, PreconditionFailed, Duplicate))
@operation(body=JsonBody(MovedInput()), answer=ReviewedProject())
def take_over_as_reviewer(project_id: int, body: dict[str, Any]) -> Any:
    """Change the website or the repository of a project to where it has moved. It applies at once.

    One person is enough, however many have to approve. The log names them.
    """
    moving.by_reviewer(project_id, **body, by=caller(), **_given(), self_review=current_app.config["SELF_REVIEW"])
    return after_decision(project_id)


@review.put("/projects/<id:project_id>/links/due")
@reviewer_required
@documented(raises=(LinksOff,))
@operation(status=204)
def look_again(project_id: int) -> Any:
    """Have the links of a live or pending project looked at within a minute, whenever that was done last."""
    schedule.hasten(project_id, by=caller())


def _given() -> dict[str, Any]:
    internal = current_app.config["ALLOW_INTERNAL_URLS"]
    return {"internal": internal, "notify": subscribers(), "versions": versions_allowed()}
