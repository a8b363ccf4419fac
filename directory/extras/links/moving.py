"""Taking over where a link leads that has moved."""

from collections.abc import Container
from dataclasses import replace
from typing import Any

from directory.errors import Invalid, LinkNotMoved
from directory.extensions import db
from directory.extras.links import schedule
from directory.models import LinkState, Project, Role
from directory.services import permissions
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller, require_active
from directory.services.review import submissions
from directory.services.text.links import check_url


def by_owner(project_id: int, link: str, *, by: Caller, internal: bool, **rules: Any) -> None:
    """Edit the address of the caller's own project to where the link leads.

    Raises NotFound, LinkNotMoved, Invalid (no project can have that address), and what an edit does.
    """
    require_active(by)
    submissions.edit(project_id, {link: _target(submissions.locked(project_id), link, internal)}, by=by, **rules)


def by_reviewer(
    project_id: int, link: str, *, by: Caller, internal: bool, self_review: str, notify: list[Endpoint],
    versions: Container[int] | None,
) -> None:  # fmt: skip
    """The same by a reviewer of its category. It applies at once, as an administrator's edit, and is in their name.

    Raises Unauthenticated, NotFound, OwnSubmission, PreconditionFailed, LinkNotMoved, Invalid, Duplicate.
    """
    require_active(by)
    project = permissions.require_reviewer(by, submissions.locked(project_id), self_review)
    values, editor = {link: _target(project, link, internal)}, replace(by, role=Role.ADMIN)
    submissions.edit(project_id, values, by=editor, review_on_edit="never", notify=notify, versions=versions)


def _target(project: Project, link: str, internal: bool) -> str:
    """Where a link of a locked project has moved. Raises LinkNotMoved, Invalid."""
    entry = schedule.known(project.id).get(link)
    if not db.shows_links or entry is None or entry["state"] != LinkState.MOVED or entry["url"] != _url(project, link):
        raise LinkNotMoved(project.status)
    try:
        return check_url(entry["final_url"], internal=internal)
    except ValueError as error:
        raise Invalid.field("link", error.args[0]) from None


def _url(project: Project, link: str) -> str | None:
    url: str | None = getattr(project, link)
    return url
