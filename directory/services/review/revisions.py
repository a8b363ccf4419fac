"""Revisions: the changes of a live project that wait for review, stored with it.

A project has at most one; that of a rejected edit keeps only the reason. Every write to it, but a category's renaming,
locks the project and raises its `version`, so `If-Match` guards both. `write` applies an approved revision, as it does
any other edit.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import bindparam, delete, select, update

from directory import events
from directory.db.errors import refusing
from directory.errors import Duplicate, Invalid
from directory.events import Event
from directory.extensions import UNSYNCHRONISED, db, modify
from directory.language.messages import _
from directory.models import Category, MessageKind, Project, Revision, Status, now
from directory.services import audit, permissions
from directory.services.catalog import catalog, category_slugs, fields, search_index
from directory.services.catalog.fields import Changes
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.review import approvals, last_decision, thread, waiting
from directory.services.review.last_decision import Overtaking
from directory.services.text.equal_addresses import needs_no_review

# For the log: an event of a revision leaves the project live.
NO_MOVE = {"from_state": Status.LIVE, "to_state": Status.LIVE}
TAKEN = _("The owner has another project with this URL.")
# The columns that an approved revision writes.
EDITED = (*fields.WRITTEN, "logo", "pictures", "slug", "url_key", "repository_key", "category_id", "domain", "text_key")
_P = Project.__table__
_EDIT = update(_P).where(_P.c.id == bindparam("project"))
_EDIT = _EDIT.values({name: bindparam(f"new_{name}") for name in EDITED})
_EDIT = _EDIT.values(version=_P.c.version + 1, updated_at=bindparam("at"), **last_decision.OVERTAKEN)
# The logo stays, so that a rejected one can be sent again; so do the pictures, by the trigger of `picture_uses`.
_REVISION = Revision.__table__.c
_REFUSE = update(Revision.__table__).where(_REVISION.project_id == bindparam("project"))
_REFUSE = _REFUSE.values(
    changes={}, category=None, submitted_at=None, waited_since=_REVISION.submitted_at, reason=bindparam("why"),
    rejected=bindparam("values"), **waiting.ENDED,
)  # fmt: skip


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


def pictures_of(project: Project, revision: Revision | None, by: Caller) -> list[dict[str, Any]]:
    """The pictures that a change begins with: the owner's those that wait, if there are any, an administrator's not."""
    waiting = {} if permissions.may(by, "administer") else changes_of(revision)
    found: list[dict[str, Any]] = waiting.get("pictures", project.pictures)
    return found


def plan(
    project: Project, revision: Revision | None, given: Mapping[str, Any], review_on_edit: str, *, is_replacing: bool
) -> Plan:
    """Plan an edit by validated fields. The calling function has locked the project and its revision.

    With `is_replacing` a given field that applies at once is removed from the revision, because its owner set it again.
    """
    before = changes_of(revision)
    shown = fields.current(project, {*given, *before})
    given = fields.with_present_category(given, shown)
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


def hold(project: Project, revision: Revision | None, planned: Plan, *, by: Caller, at: datetime) -> Revision | None:
    """Store the revision as it is after an edit, log what the edit changed in it, and return it if it waits.

    Raises Invalid.

    A pending revision keeps its place in the queue. An edit by the owner replaces or removes a rejected one.
    """
    if not planned.after and revision is not None and (planned.before or not permissions.may(by, "administer")):
        db.session.delete(revision)
    if planned.after:
        if revision is None:
            revision = Revision(project_id=project.id)
            db.session.add(revision)
        revision.changes = {name: value for name, value in planned.after.items() if name != "category"}
        revision.category, revision.logo = planned.after.get("category"), planned.after.get("logo")
        revision.submitted_at, revision.reason, revision.rejected = revision.submitted_at or at, None, None
        revision.waited_since = None
    with refusing(fk_revisions_category_categories=Invalid.field("category", fields.NO_CATEGORY)):
        db.session.flush()
    if planned.after and planned.revision_changes:
        audit.record_project(
            events.PROJECT_EDIT_HELD, project, by=by, at=at, changes=planned.revision_changes, **NO_MOVE
        )
    elif planned.before and not planned.after and not permissions.may(by, "administer"):
        audit.record_project(events.PROJECT_EDIT_WITHDRAWN, project, by=by, at=at, **NO_MOVE)
    return revision if planned.after else None


def approve_each(
    held: Mapping[int, Revision], *, by: Caller | None, notify: list[Endpoint], reason: str | None, required: int
) -> tuple[set[int], set[int]]:
    """Apply the changes to the projects that `required` people have approved.

    Returns the ids of the projects that were changed, and of those whose owner has another project with the new URL.
    All but the former stay as they are. The calling function has locked the projects, the keys of `held`. The reason is
    only logged.
    """
    at = now()
    wanted = {project_id: changes_of(revision) for project_id, revision in held.items()}
    applied, taken = _apply(_edited(wanted), at, required)
    facts = {"action": events.PROJECT_EDIT_APPROVED, "at": at, "reason": reason, **NO_MOVE}
    entries = [
        (each.after, {"changes": each.changes, "waited_seconds": waiting.seconds(held[each.after.id], at)})
        for each in applied
    ]
    audit.record_each(entries, by=by, **facts)
    thread.record_each(MessageKind.APPROVED, [each.after for each in applied], None, by=by, at=at)
    changes = {each.after.id: each.changes for each in applied}
    _notify(events.PROJECT_EDITED, changes, by=by, notify=notify, changes=changes)
    _notify(events.PROJECT_EDIT_APPROVED, changes, by=by, notify=notify)
    return set(changes), taken


@dataclass(frozen=True, slots=True)
class _Edited:
    """A project with its new values, as an object with all columns that an edit writes, and what changes by field."""

    after: SimpleNamespace
    changes: Changes


def _edited(wanted: Mapping[int, dict[str, Any]]) -> list[_Edited]:
    """The projects as they are after the wanted changes, in the order of their ids."""
    query = select(Project, Category.slug).join(Category).where(Project.id.in_(wanted)).order_by(Project.id)
    found = db.session.execute(query, execution_options={"populate_existing": True}).all()
    slugs = {values["category"] for values in wanted.values() if "category" in values}
    categories: dict[str, int] = {}
    if slugs:
        categories = dict(db.session.execute(select(Category.slug, Category.id).where(Category.slug.in_(slugs))).all())
    return [_as_edited(project, slug, wanted[project.id], categories) for project, slug in found]


def _as_edited(project: Project, slug: str, values: dict[str, Any], categories: Mapping[str, int]) -> _Edited:
    before = fields.current(project, values, category=slug)
    changes = fields.differences(before, values)
    columns = {name: getattr(project, name) for name in EDITED}
    columns |= fields.columns({name: change["to"] for name, change in changes.items()}, categories)
    return _Edited(SimpleNamespace(id=project.id, owner_id=project.owner_id, **columns), changes)


def _apply(edited: list[_Edited], at: datetime, required: int) -> tuple[list[_Edited], set[int]]:
    """Write the values that have enough approvals, and delete their revisions.

    Returns what was written, and the ids of the projects whose owner has the new URL already. If the database refuses
    one, each half is tried, so that a few refusals cost a few statements.
    """
    try:
        # The savepoint keeps the other decisions of the transaction.
        with refusing(uq_projects_owner_id_url_key=Duplicate(["url"], TAKEN)), db.session.begin_nested():
            approved = _write_each([each.after for each in edited], at, required)
    except Duplicate:
        half = len(edited) // 2
        if not half:
            return [], {edited[0].after.id}
        (some, taken), (others, also_taken) = _apply(edited[:half], at, required), _apply(edited[half:], at, required)
        return [*some, *others], taken | also_taken
    written = [each for each in edited if each.after.id in approved]
    search_index.index([each.after for each in written if not fields.SEARCHED.isdisjoint(each.changes)])
    return written, set()


def _write_each(projects: list[SimpleNamespace], at: datetime, required: int) -> set[int]:
    """Delete the revisions that have enough approvals, write their values, and return the ids of the projects."""
    wanted: Any = [project.id for project in projects]
    if required > 1:
        wanted = select(Project.id).where(Project.id.in_(wanted), approvals.are_enough(required))
    gone = delete(Revision).where(Revision.project_id.in_(wanted)).returning(Revision.project_id)
    ids = set(db.session.scalars(gone, execution_options=UNSYNCHRONISED))
    rows = [
        {"project": project.id, "at": at, **{f"new_{n}": getattr(project, n) for n in EDITED}}
        for project in projects
        if project.id in ids
    ]
    if rows:
        db.session.connection().execute(_EDIT, rows)
    return ids


def reject_each(
    held: Mapping[int, Revision],
    *,
    by: Caller | None,
    notify: list[Endpoint],
    reason: str | None,
    rule_id: int | None = None,
) -> None:
    """Reject the changes of the projects; their owners see the reason. The calling function has locked the projects."""
    at = now()
    waited = {project_id: waiting.seconds(revision, at) for project_id, revision in held.items()}
    written = [{"project": project_id, "values": changes_of(revision)} for project_id, revision in held.items()]
    db.session.connection().execute(_REFUSE, [{**one, "why": reason} for one in written])
    raising = update(Project).where(Project.id.in_(held))
    modify(raising.values(version=Project.version + 1, **last_decision.made(by, at)))
    columns = (Project.id, Project.owner_id, Project.url_key, Project.title)
    projects = list(db.session.execute(select(*columns).where(Project.id.in_(held)).order_by(Project.id)))
    facts = {"action": events.PROJECT_EDIT_REJECTED, "at": at, "reason": reason, "rule_id": rule_id, **NO_MOVE}
    entries = [(project, {"waited_seconds": waited[project.id]}) for project in projects]
    audit.record_each(entries, by=by, **facts)
    thread.record_each(MessageKind.REJECTED, projects, reason, by=by, at=at)
    _notify(events.PROJECT_EDIT_REJECTED, held, by=by, notify=notify, reason=reason)


def _notify(
    event: Event,
    project_ids: Collection[int],
    *,
    by: Caller | None,
    notify: list[Endpoint],
    reason: str | None = None,
    changes: Mapping[int, Changes] | None = None,
) -> None:
    if project_ids and outbox.wanting(event, notify):
        projects = catalog.all_stored(list(project_ids))
        outbox.enqueue_each(event, projects, by=by, endpoints=notify, reason=reason, changes=changes)


def restore(revision: Revision, at: datetime) -> None:
    """Have rejected changes wait again, at their old place, for a review that is measured from `at`.

    A category that is gone is left out. What an earlier release rejected has no place, and gets one at `at`. The
    calling function has locked the project. Raises Invalid if the category is deleted at this moment.
    """
    values = dict(revision.rejected or {})
    slug = values.pop("category", None)
    revision.changes, revision.category = values, slug and category_slugs.present(slug)
    revision.submitted_at, revision.waited_since = revision.waited_since or at, None
    revision.reason, revision.rejected, revision.measured_from = None, None, at
    with refusing(fk_revisions_category_categories=Invalid.field("category", fields.NO_CATEGORY)):
        db.session.flush()


def write(project: Project, changes: Changes, at: datetime) -> None:
    """Write the changed values into a project and the search index. Raises Invalid, IntegrityError."""
    for name, value in fields.columns({name: change["to"] for name, change in changes.items()}).items():
        setattr(project, name, value)
    project.updated_at = at
    with refusing(fk_projects_category_id_categories=Invalid.field("category", fields.NO_CATEGORY)):
        db.session.flush()
    if not fields.SEARCHED.isdisjoint(changes):
        search_index.index([project])


def drop_all(owner_id: int, *, by: Caller | None) -> None:
    """Delete the revisions of an owner's projects; the calling function has locked these and the account."""
    owned = select(Project.id).where(Project.owner_id == owner_id, Project.status == Status.LIVE)
    gone = delete(Revision).where(Revision.project_id.in_(owned)).returning(Revision.project_id)
    ids = list(db.session.scalars(gone, execution_options=UNSYNCHRONISED))
    if not ids:
        return
    columns = select(Project.id, Project.owner_id, Project.appealed_at)
    projects = db.session.execute(columns.where(Project.id.in_(ids)).order_by(Project.id))
    last_decision.end_appeals(projects, Overtaking.WITHDRAWAL, by=by, at=now())
    raising = update(Project).where(Project.id.in_(ids))
    modify(raising.values(version=Project.version + 1, **last_decision.OVERTAKEN))
