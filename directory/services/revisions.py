"""Revisions: the changes of a live project that wait for review, stored beside it.

A project has at most one; that of a rejected edit keeps only the reason. Every write to it, but a category's renaming,
locks the project and raises its `version`, so `If-Match` guards both. `write` applies an approved revision, as it does
any other edit.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select, update

from directory.db.errors import refusing
from directory.errors import Duplicate, Invalid
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.models import Project, Revision, Status, now
from directory.services import audit
from directory.services.accounts.identity import Caller
from directory.services.catalog import fields, search_index
from directory.services.catalog.fields import Changes
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.equal_addresses import needs_no_review

# For the log: an event of a revision leaves the project live.
NO_MOVE = {"from_state": Status.LIVE, "to_state": Status.LIVE}
TAKEN = "The owner has another project with this URL."


@dataclass(frozen=True, slots=True)
class Plan:
    """The values that an edit writes.

    `changes` apply at once. `before` are the values in the revision before the edit, `after` those after it.
    `revision_changes` are the fields in which these two differ, except those in `changes`: from the value shown to the
    new one.
    """

    changes: Changes
    before: dict[str, Any]
    after: dict[str, Any]
    revision_changes: Changes


def of(project_id: int) -> Revision | None:
    """The revision of a project; the calling function has locked the project."""
    return of_each([project_id]).get(project_id)


def of_each(project_ids: Collection[int]) -> dict[int, Revision]:
    """The revisions of projects, by the ids of the projects. The calling function has locked the projects.

    The revisions are locked too, because renaming a category changes those that contain it.
    """
    query = select(Revision).where(Revision.project_id.in_(project_ids)).order_by(Revision.project_id).with_for_update()
    found = db.session.scalars(query, execution_options={"populate_existing": True})
    return {revision.project_id: revision for revision in found}


def changes_of(revision: Revision | None) -> dict[str, Any]:
    """The values that wait for review, by field and in the order of the fields. A rejected revision has none."""
    if revision is None:
        return {}
    values = revision.changes if revision.category is None else {**revision.changes, "category": revision.category}
    return {name: values[name] for name in fields.NAMES if name in values}


def plan(
    project: Project, revision: Revision | None, given: Mapping[str, Any], review_on_edit: str, *, is_replacing: bool
) -> Plan:
    """Plan an edit by validated fields. The calling function has locked the project and its revision.

    With `is_replacing` a given field that applies at once is removed from the revision, because its owner set it again.
    """
    before = changes_of(revision)
    shown = fields.current(project, {*given, *before})
    later = _to_review(project, given, review_on_edit)
    changes = fields.differences(shown, {name: value for name, value in given.items() if name not in later})
    shown |= {name: change["to"] for name, change in changes.items()}
    kept = {name: value for name, value in before.items() if not (is_replacing and name in given)}
    wanted = kept | {name: given[name] for name in later}
    after = {name: wanted[name] for name in fields.NAMES if name in wanted and wanted[name] != shown[name]}
    revision_changes = {
        name: {"from": shown[name], "to": after.get(name, shown[name])}
        for name in fields.NAMES
        if name in before.keys() | after.keys()
        and name not in changes
        and before.get(name, shown[name]) != after.get(name, shown[name])
    }
    return Plan(changes, before, after, revision_changes)


def _to_review(project: Project, given: Mapping[str, Any], review_on_edit: str) -> set[str]:
    """The given fields that need review. An equal URL, in the narrow sense, needs none."""
    names = fields.reviewed(review_on_edit)
    is_same = "url" in given and needs_no_review(project.url, given["url"])
    return {name for name in given if name in names and not (name == "url" and is_same)}


def hold(project: Project, revision: Revision | None, planned: Plan, *, by: Caller, at: datetime) -> None:
    """Store the revision as it is after an edit, and log what the edit changed in it. Raises Invalid.

    A pending revision keeps its place in the queue. An edit by the owner replaces or removes a rejected one.
    """
    if not planned.after and revision is not None and (planned.before or not by.is_admin):
        db.session.delete(revision)
    if planned.after:
        if revision is None:
            revision = Revision(project_id=project.id)
            db.session.add(revision)
        revision.changes = {name: value for name, value in planned.after.items() if name != "category"}
        revision.category, revision.logo = planned.after.get("category"), planned.after.get("logo")
        revision.submitted_at, revision.reason = revision.submitted_at or at, None
    with refusing(fk_revisions_category_categories=Invalid.field("category", fields.NO_CATEGORY)):
        db.session.flush()
    if planned.after and planned.revision_changes:
        audit.record_project("project.edit_held", project, by=by, at=at, changes=planned.revision_changes, **NO_MOVE)
    elif planned.before and not planned.after and not by.is_admin:
        audit.record_project("project.edit_withdrawn", project, by=by, at=at, **NO_MOVE)


def approve(
    project_id: int, revision: Revision, *, by: Caller | None, notify: list[Endpoint], reason: str | None
) -> None:
    """Apply the changes to the project. Raises Duplicate and then changes nothing.

    The calling function has locked the project. The reason is only logged.
    """
    at = now()
    project = db.session.get_one(Project, project_id, populate_existing=True)
    values = changes_of(revision)
    changes = fields.differences(fields.current(project, values), values)
    waited = _waited(revision, at)
    taken = Duplicate(["url"], TAKEN)
    # The savepoint keeps the other decisions of the transaction.
    with refusing(uq_projects_owner_id_url_key=taken), db.session.begin_nested():
        db.session.delete(revision)
        project.version += 1
        write(project, changes, at)
    audit.record_project(
        "project.edit_approved", project, by=by, at=at, reason=reason, changes=changes, waited_seconds=waited, **NO_MOVE
    )
    outbox.enqueue("project.edited", project_id, by=by, endpoints=notify, changes=changes)
    outbox.enqueue("project.edit_approved", project_id, by=by, endpoints=notify)


def reject(
    project_id: int, revision: Revision, *, by: Caller | None, notify: list[Endpoint], reason: str | None
) -> None:
    """Reject the changes of the project; its owner sees the reason. The calling function has locked the project."""
    at = now()
    project = db.session.get_one(Project, project_id, populate_existing=True)
    waited = _waited(revision, at)
    revision.changes, revision.category, revision.logo = {}, None, None
    revision.submitted_at, revision.reason = None, reason
    project.version += 1
    db.session.flush()
    audit.record_project(
        "project.edit_rejected", project, by=by, at=at, reason=reason, waited_seconds=waited, **NO_MOVE
    )
    outbox.enqueue("project.edit_rejected", project_id, by=by, endpoints=notify, reason=reason)


def write(project: Project, changes: Changes, at: datetime) -> None:
    """Write the changed values into a project and the search index. Raises Invalid, IntegrityError."""
    for name, value in fields.columns({name: change["to"] for name, change in changes.items()}).items():
        setattr(project, name, value)
    project.updated_at = at
    with refusing(fk_projects_category_id_categories=Invalid.field("category", fields.NO_CATEGORY)):
        db.session.flush()
    if not fields.SEARCHED.isdisjoint(changes):
        search_index.index([project])


def drop_all(owner_id: int) -> None:
    """Delete the revisions of an owner's projects; the calling function has locked these and the account."""
    owned = select(Project.id).where(Project.owner_id == owner_id, Project.status == Status.LIVE)
    gone = delete(Revision).where(Revision.project_id.in_(owned)).returning(Revision.project_id)
    ids = list(db.session.scalars(gone, execution_options=UNSYNCHRONISED))
    if ids:
        raising = update(Project).where(Project.id.in_(ids)).values(version=Project.version + 1)
        modify(raising)


def _waited(revision: Revision, at: datetime) -> float:
    assert revision.submitted_at is not None  # noqa: S101 (a revision that is decided waits)
    return (at - revision.submitted_at).total_seconds()
