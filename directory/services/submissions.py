"""Submitting, editing and deleting a project: what its owner does."""

from collections.abc import Collection, Container
from typing import Any

from sqlalchemy import delete as sql_delete
from sqlalchemy import select

from directory.db.errors import refusing
from directory.errors import Duplicate, Invalid, PreconditionFailed
from directory.extensions import UNSYNCHRONISED, db
from directory.models import Category, Project, Status, now
from directory.services import audit
from directory.services.accounts.identity import Caller, require_active
from directory.services.catalog import catalog, search_index
from directory.services.catalog.ranking import hot
from directory.services.links import url_key
from directory.services.text import slugify
from directory.services.webhooks import outbox
from directory.services.webhooks.outbox import Endpoint

SEARCHED = {"title", "tagline", "description", "tags", "url"}
NO_CATEGORY = "There is no such category."
MATERIAL = {"url", "title"}  # what a reviewer approved above all


def submit(fields: dict[str, Any], *, by: Caller, notify: list[Endpoint]) -> int:
    """Add a pending project of `by` from validated fields, and return its id.

    Raises Unauthenticated, Invalid, Duplicate.
    """
    require_active(by)
    at = now()
    columns = _columns(fields)
    project = Project(
        owner_id=by.id,
        status=Status.PENDING,
        hot=hot(0, at),
        created_at=at,
        updated_at=at,
        submitted_at=at,
        **columns,
    )
    db.session.add(project)
    _flush(by.id, columns["url_key"])  # the id, for the log; and whether the owner has the URL already
    search_index.index([project])
    audit.record_project("project.submitted", project, by=by, at=at, to_state=Status.PENDING)
    outbox.enqueue("project.submitted", project.id, by=by, endpoints=notify)
    return project.id


def edit(
    project_id: int,
    fields: dict[str, Any],
    *,
    by: Caller,
    review_on_edit: str,
    versions: Container[int] | None = None,
) -> None:
    """Change validated fields of a project; a rejected one, or a live one changed materially, is reviewed again.

    `versions` are those that If-Match allows, None any. An edit that changes nothing leaves no trace.
    Raises Unauthenticated, NotFound, NotOwner, PreconditionFailed, Invalid, Duplicate.
    """
    require_active(by)
    project = _locked(project_id, by, versions)
    changed = {name: value for name, value in _columns(fields).items() if getattr(project, name) != value}
    if not changed:
        return
    before, at = project.status, now()
    changes = _changes(project, fields, changed.keys())
    for name, value in changed.items():
        setattr(project, name, value)
    owner_id, key = project.owner_id, project.url_key
    project.updated_at = at
    project.version += 1
    if not by.is_admin and _needs_review(before, changed.keys(), review_on_edit):
        project.status, project.rejection_reason, project.submitted_at = Status.PENDING, None, at
    _flush(owner_id, key)
    if SEARCHED & changed.keys():
        search_index.index([project])
    states = {"from_state": before, "to_state": project.status}
    audit.record_project("project.edited", project, by=by, at=at, changes=changes, **states)


def remove(project_id: int, *, by: Caller, notify: list[Endpoint], versions: Container[int] | None = None) -> None:
    """Delete a project. Raises Unauthenticated, NotFound, NotOwner, PreconditionFailed."""
    require_active(by)
    delete(project_id, by=by, notify=notify, versions=versions)


def delete(
    project_id: int,
    *,
    by: Caller,
    notify: list[Endpoint],
    versions: Container[int] | None = None,
    reason: str | None = None,
) -> None:
    """Delete a project with its votes; its audit entries stay, and the reason is in the one of its deletion.

    The transaction holds the account of `by` active. Raises NotFound, NotOwner, PreconditionFailed.
    """
    project = _locked(project_id, by, versions)
    outbox.enqueue("project.deleted", project_id, by=by, endpoints=notify)
    audit.record_project("project.deleted", project, by=by, from_state=project.status, reason=reason)
    db.session.flush()
    db.session.expunge(project)
    search_index.forget(project_id)
    db.session.execute(sql_delete(Project).where(Project.id == project_id), execution_options=UNSYNCHRONISED)


def _locked(project_id: int, by: Caller, versions: Container[int] | None) -> Project:
    """The project, locked, if `by` may change it and it is of a version that the caller means.

    Where there is no row to lock the transaction stops: to delete the votes all the same was measured to deadlock.
    """
    query = select(Project).where(Project.id == project_id).with_for_update(key_share=True)
    project = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    catalog.require_editable(project, by)
    assert project is not None  # noqa: S101 (require_editable refuses None)
    if versions is not None and project.version not in versions:
        raise PreconditionFailed
    return project


def _needs_review(status: str, changed: Collection[str], review_on_edit: str) -> bool:
    if status != Status.LIVE:
        return status == Status.REJECTED
    return review_on_edit == "always" or (review_on_edit == "material" and bool(MATERIAL & set(changed)))


def _changes(project: Project, fields: dict[str, Any], changed: Collection[str]) -> dict[str, dict[str, Any]]:
    """What an edit will change of a project, whole, as callers name and write it: a category by its slug."""
    before = {name: getattr(project, name) for name in fields if name in changed}
    if "category_id" in changed:
        before["category"] = db.session.scalar(select(Category.slug).where(Category.id == project.category_id))
    return {name: {"from": value, "to": fields[name]} for name, value in before.items()}


def _columns(fields: dict[str, Any]) -> dict[str, Any]:
    """Validated fields as columns, those that follow from them included."""
    columns = dict(fields)
    if "category" in columns:
        columns["category_id"] = _category_id(columns.pop("category"))
    if "title" in columns:
        columns["slug"] = slugify(columns["title"])
    if "url" in columns:
        columns["url_key"] = url_key(columns["url"])
    return columns


def refusals(fields: dict[str, Any]) -> list[dict[str, str]]:
    """What the rules refuse of fields that are valid by themselves, as the errors of an answer."""
    if "category" not in fields or _found(fields["category"]) is not None:
        return []
    return [{"pointer": "#/category", "detail": NO_CATEGORY}]


def _found(slug: str) -> int | None:
    return db.session.scalar(select(Category.id).where(Category.slug == slug))


def _category_id(slug: str) -> int:
    found = _found(slug)
    if found is None:
        raise Invalid.field("category", NO_CATEGORY)
    return found


def _flush(owner_id: int, key: str) -> None:
    with refusing(
        uq_projects_owner_id_url_key=lambda: _submitted_already(owner_id, key),
        fk_projects_category_id_categories=Invalid.field("category", NO_CATEGORY),
    ):
        db.session.flush()


def _submitted_already(owner_id: int, key: str) -> Duplicate:
    """The refusal of a URL that the owner has submitted, with the project that holds it, unless it is deleted now."""
    held = select(Project.id, Project.title, Project.status)
    row = db.session.execute(held.where(Project.owner_id == owner_id, Project.url_key == key)).one_or_none()
    existing = {} if row is None else {"existing": row._asdict()}
    return Duplicate(["url"], "You have submitted this URL already.", **existing)
