"""Changes of a live project that wait for review, as a case of their own: what an edit writes, and what is applied.

Every write to the case, but a category's renaming, locks the project and raises its `version`, so `If-Match` guards
both. `write` applies approved changes, as it does any other edit.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import bindparam, select, update

from directory import events
from directory.db.errors import refusing
from directory.errors import Duplicate, Invalid
from directory.extensions import db, modify
from directory.language.messages import _
from directory.models import Category, Project, Review, Reviewed, Status, now
from directory.services import audit, permissions
from directory.services.catalog import catalog, fields, own_fields, search_index
from directory.services.catalog.fields import Changes
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.identity import Caller
from directory.services.review.case import Case, advance, begun, changes_of, end_appeals, flush, review_of
from directory.services.review.steps import Act, Overtaking
from directory.services.text.equal_addresses import needs_no_review

# For the log: an event of changes leaves the project live.
NO_MOVE = {"from_state": Status.LIVE, "to_state": Status.LIVE}
TAKEN = _("The owner has another project with this URL.")
# The columns that approved changes write.
EDITED = (*fields.WRITTEN, "logo", "pictures", "slug", "url_key", "repository_key", "category_id", "domain", "text_key")
_P = Project.__table__
_EDIT = update(_P).where(_P.c.id == bindparam("project"))
_EDIT = _EDIT.values({name: bindparam(f"new_{name}") for name in EDITED})
_EDIT = _EDIT.values(version=_P.c.version + 1, updated_at=bindparam("at"))


@dataclass(frozen=True, slots=True)
class Plan:
    """The values that an edit writes.

    `changes` apply at once. `before` are the values that wait before the edit, `after` those after it.
    `revision_changes` are the fields in which these two differ, except those in `changes`: from the value shown to the
    new one.
    """

    changes: Changes
    before: dict[str, Any]
    after: dict[str, Any]
    revision_changes: Changes


def pictures_of(case: Case, by: Caller) -> list[dict[str, Any]]:
    """The pictures that a change begins with: the owner's those that wait, if there are any, an administrator's not."""
    waiting = {} if permissions.may(by, "administer") else changes_of(case.review)
    pictures: list[dict[str, Any]] = waiting.get("pictures", case.project.pictures)
    return pictures


def plan(
    project: Project, review: Review | None, values: Mapping[str, Any], review_on_edit: str, *, is_replacing: bool
) -> Plan:
    """Plan an edit by validated fields. The calling function has locked the project and its case.

    With `is_replacing` a given field that applies at once no longer waits, because its owner set it again.
    """
    before = changes_of(review)
    shown = fields.current(project, {*values, *before})
    values = fields.with_present_category(values, shown)
    later = _to_review(project, values, review_on_edit)
    changes = fields.differences(shown, {name: value for name, value in values.items() if name not in later})
    shown |= {name: change["to"] for name, change in changes.items()}
    kept = {name: value for name, value in before.items() if not (is_replacing and name in values)}
    wanted = kept | {name: values[name] for name in later}
    after = {name: wanted[name] for name in fields.in_order(wanted) if wanted[name] != shown[name]}
    revision_changes = {
        name: {"from": shown[name], "to": after.get(name, shown[name])}
        for name in fields.in_order(before.keys() | after.keys())
        if name not in changes and before.get(name, shown[name]) != after.get(name, shown[name])
    }
    return Plan(changes, before, after, revision_changes)


def _to_review(project: Project, values: Mapping[str, Any], review_on_edit: str) -> set[str]:
    """The given fields that need review. An equal URL, in the narrow sense, needs none."""
    names = {*fields.reviewed(review_on_edit)}
    if review_on_edit != "never" and any(name.startswith(fields.PREFIX) for name in values):
        defined = own_fields.present().values()
        names |= {fields.PREFIX + field.name for field in defined if field.is_material or review_on_edit == "always"}
    is_same = "url" in values and needs_no_review(project.url, values["url"])
    return {name for name in values if name in names and not (name == "url" and is_same)}


def hold(case: Case, planned: Plan, *, by: Caller, at: datetime) -> None:
    """Store what waits of a live project after an edit, and log what the edit changed in it.

    Changes that wait keep their place in the queue. An edit by the owner replaces or removes rejected ones. Raises
    Invalid.
    """
    is_admin = permissions.may(by, "administer")
    is_over = not planned.after if planned.before else not is_admin
    if is_over and case.review is not None and case.kind is Reviewed.CHANGES:
        advance(case, Act.WITHDRAW, by=by, at=at)
    if planned.after:
        review = case.review = case.review or begun(case.project, Reviewed.CHANGES, at)
        review.changes = fields.nested({name: value for name, value in planned.after.items() if name != "category"})
        review.category, review.logo = planned.after.get("category"), planned.after.get("logo")
    flush([case])
    if planned.after and planned.revision_changes:
        changes = fields.nested(planned.revision_changes)
        audit.record_project(events.PROJECT_EDIT_HELD, case.project, by=by, at=at, changes=changes, **NO_MOVE)
    elif planned.before and not planned.after and not is_admin:
        audit.record_project(events.PROJECT_EDIT_WITHDRAWN, case.project, by=by, at=at, **NO_MOVE)


def apply(cases: list[Case], *, by: Caller | None, notify: list[Endpoint]) -> dict[int, Changes]:
    """Apply the changes that wait to their projects, and return them by project, each field with both values.

    Projects whose owner has another one with the new URL stay as they are, and are left out. The calling function has
    locked them.
    """
    wanted = {case.id: _wanted(case) for case in cases}
    edited = {edit.after.id: edit for edit in _apply(_edited(wanted), now())}
    applied = {project_id: edit.changes for project_id, edit in edited.items()}
    for case in cases:
        if case.id in edited:  # the log names it as it is now
            after = edited[case.id].after
            named = {"title": after.title, "url_key": after.url_key, "category_id": after.category_id}
            case.project = case.project._replace(**named)
    if applied and outbox.wanting(events.PROJECT_EDITED, notify):
        stored = catalog.all_stored(list(applied))
        outbox.enqueue_each(events.PROJECT_EDITED, stored, by=by, endpoints=notify, changes=applied)
    return applied


def _wanted(case: Case) -> dict[str, Any]:
    """The values of a case that are applied: not those of own fields that are gone meanwhile."""
    values = changes_of(case.review)
    if not any(name.startswith(fields.PREFIX) for name in values):
        return values
    return fields.flat(own_fields.of_present(fields.nested(values), own_fields.present()))


@dataclass(frozen=True, slots=True)
class _Edited:
    """A project with its new values, as an object with all columns that an edit writes, and what changes by field."""

    after: SimpleNamespace
    changes: Changes


def _edited(wanted: Mapping[int, dict[str, Any]]) -> list[_Edited]:
    """The projects as they are after the wanted changes, in the order of their ids."""
    query = select(Project, Category.slug).join(Category).where(Project.id.in_(wanted)).order_by(Project.id)
    rows = db.session.execute(query, execution_options={"populate_existing": True}).all()
    slugs = {values["category"] for values in wanted.values() if "category" in values}
    categories: dict[str, int] = {}
    if slugs:
        categories = dict(db.session.execute(select(Category.slug, Category.id).where(Category.slug.in_(slugs))).all())
    return [_as_edited(project, slug, wanted[project.id], categories) for project, slug in rows]


def _as_edited(project: Project, slug: str, values: dict[str, Any], categories: Mapping[str, int]) -> _Edited:
    changes = fields.differences(fields.current(project, values, category=slug), values)
    return _Edited(after(project, {name: change["to"] for name, change in changes.items()}, categories), changes)


def after(project: Project, values: Mapping[str, Any], categories: Mapping[str, int] | None = None) -> SimpleNamespace:
    """A project with other values, as an object with all columns that an edit writes. Raises Invalid."""
    columns = {name: getattr(project, name) for name in ("id", "owner_id", "version", *EDITED)}
    return SimpleNamespace(**columns | fields.columns(values, categories, project.fields))


def _apply(edited: list[_Edited], at: datetime) -> list[_Edited]:
    """Write the values, and return what was written: not those of projects whose owner has the new URL already.

    If the database refuses one, each half is tried, so that a few refusals cost a few statements.
    """
    try:
        # The savepoint keeps the other decisions of the transaction.
        with refusing(uq_projects_owner_id_url_key=Duplicate(["url"], TAKEN)), db.session.begin_nested():
            rows = [
                {"project": edit.after.id, "at": at, **{f"new_{name}": getattr(edit.after, name) for name in EDITED}}
                for edit in edited
            ]
            db.session.connection().execute(_EDIT, rows)
    except Duplicate:
        half = len(edited) // 2
        return [*_apply(edited[:half], at), *_apply(edited[half:], at)] if half else []
    search_index.index([edit.after for edit in edited if fields.is_indexed(edit.changes, edit.after.fields)])
    return edited


def write(project: Project, changes: Changes, at: datetime) -> None:
    """Write the changed values into a project and the search index. Raises Invalid, IntegrityError."""
    changed = {name: change["to"] for name, change in changes.items()}
    for name, value in fields.columns(changed, own=project.fields).items():
        setattr(project, name, value)
    project.updated_at = at
    with refusing(fk_projects_category_id_categories=Invalid.field("category", fields.NO_CATEGORY)):
        db.session.flush()
    if fields.is_indexed(changes, project.fields):
        search_index.index([project])


def drop_all(owner_id: int, *, by: Caller | None) -> None:
    """Withdraw the changes of an owner's projects; the calling function has locked these and the account."""
    columns = (Project.id, Project.owner_id, Project.status, *Review.__table__.c)
    owned = select(*columns).join(Review, Project.id == Review.project_id).order_by(Project.id)
    owned = owned.where(Project.owner_id == owner_id, Project.status == Status.LIVE, Review.is_current)
    cases = [Case(row, review_of(row[3:])) for row in db.session.execute(owned.with_for_update(of=Review))]
    if not cases:
        return
    at = now()
    end_appeals(cases, Overtaking.WITHDRAWAL, by=by, at=at)
    for case in cases:
        advance(case, Act.WITHDRAW, by=by, at=at)
    flush(cases)
    ids = [case.id for case in cases]
    modify(update(Project).where(Project.id.in_(ids)).values(version=Project.version + 1))
