"""Submitting a project; editing or deleting it, by its owner or an administrator."""

from collections.abc import Callable, Container, Mapping, Sequence
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from sqlalchemy import delete, or_, select, true

from directory import events
from directory.db.errors import refusing
from directory.db.statements import add_row
from directory.errors import Duplicate, Invalid, NotFound, PreconditionFailed
from directory.extensions import db, modify
from directory.language.messages import _
from directory.models import Delivery, Effect, Judged, Project, Reviewed, Status, User, now
from directory.services import audit, daily_bytes, permissions
from directory.services.catalog import catalog, category_slugs, counters, fields, own_fields, search_index
from directory.services.catalog.orders import hot
from directory.services.delivery import outbox
from directory.services.delivery.channels import Endpoint
from directory.services.drafts import Draft, Judge
from directory.services.identity import Caller, require_active, require_verified
from directory.services.pictures import logos
from directory.services.pictures.pictures import PictureList
from directory.services.review import revisions
from directory.services.review.case import Case, Terms, advance, changes_of, current, end_appeals, flush, move
from directory.services.review.steps import Act, Overtaking, Stage
from directory.services.text.equal_addresses import Address, repository_key, url_key

ADDRESS = frozenset({"url", "repository_url"})  # the fields that make duplicates
PICTURES = {"logo", "pictures"}
SHOWN = PICTURES | {"logo_url"}  # who adds these alone may have more to do before it is reviewed
OTHER_REPOSITORY = _("You have another project of this website, with this repository or without one.")


def submit(values: dict[str, Any], *, by: Caller, notify: list[Endpoint], judge: Judge | None = None) -> int:
    """Add a pending project of `by` from validated fields, have it judged, and return its id.

    Raises Unauthenticated, Invalid, Duplicate.
    """
    require_active(by)
    at = now()
    row = {
        **fields.columns({**fields.filled(values), **values}),
        "owner_id": by.id,
        "status": Status.PENDING,
        "upvotes": 0,
        "hot": hot(0, at),
        "version": 1,
        "created_at": at,
        "updated_at": at,
        "submitted_at": at,
    }
    with refusing(
        uq_projects_owner_id_url_key=lambda: _submitted_already(by.id, values["url"], values.get("repository_url")),
        fk_projects_category_id_categories=lambda: Invalid.field("category", fields.NO_CATEGORY),
    ):
        project_id = add_row(Project, row)
    project = SimpleNamespace(**{"logo": None, **row}, id=project_id, pictures=[], published_at=None)
    search_index.index([project])
    audit.record_project(events.PROJECT_SUBMITTED, project, by=by, at=at, to_state=Status.PENDING)
    daily_bytes.note(values, daily_bytes.ROW)
    outbox.enqueue(events.PROJECT_SUBMITTED, project_id, by=by, endpoints=notify)
    if judge is not None:
        _have_judged(judge, Draft(Judged.SUBMISSION, project, at), project, by=by, notify=notify)
    return project_id


def edit(
    project_id: int,
    values: dict[str, Any],
    *,
    by: Caller,
    review_on_edit: str,
    notify: list[Endpoint],
    self_review: str = "allow",
    versions: Container[int] | None = None,
    pictures: Callable[[PictureList], PictureList] | None = None,
    needs_verified: bool = False,
    gives_back: bool = True,
    judge: Judge | None = None,
) -> None:
    """Change validated fields of a project, and with `pictures` the list of its pictures.

    A rejected project goes back to review. What waits for its owner goes back to its place in the queue, but not by a
    logo or pictures alone, and not unless `gives_back`. When a member edits a live project, the fields that need review
    wait, as a case of their own, and the others apply at once. An administrator's edit applies at once and does not
    change the state; with `self_review` "refuse" that of their own project is as a member's. An edit that changes
    nothing is not logged. What then waits for review is judged, but for an administrator's edit.
    `versions` are those that If-Match allows; None allows any. With `needs_verified` only members with a confirmed
    address give back.
    Raises Unauthenticated, NotFound, NotOwner, PreconditionFailed, Invalid, Duplicate, EmailNotVerified, and what
    `pictures` raises.
    """
    require_active(by)
    project = _locked(project_id, by, versions)
    editor = permissions.as_editor(by, project.owner_id, self_review)
    case, at, is_admin = current(project), now(), permissions.may(editor, "administer")
    if pictures is not None:
        values = {**values, "pictures": pictures(revisions.pictures_of(case, editor))}
    values = fields.flat(_with_own_fields(values, case))
    review = review_on_edit if project.status == Status.LIVE and not is_admin else "never"
    planned = revisions.plan(project, case.review, values, review, is_replacing=not is_admin)
    is_edit = bool(planned.changes or planned.revision_changes)
    if is_edit:
        _write_edit(case, planned, gives_back, needs_verified, by=editor, at=at, notify=notify)
    if not PICTURES.isdisjoint(values):
        logos.drop_unused(by.id)
    if judge is not None and is_edit and _leaves_waiting(project, planned):
        _have_judged(judge, _draft(project, planned, at), project, by=by, notify=notify)


def _with_own_fields(values: dict[str, Any], case: Case) -> dict[str, Any]:
    """Input whose values of own fields the project may have. Raises Invalid."""
    own = values.get(fields.OWN_FIELDS)
    if own is None:
        return values
    project, waiting = case.project, fields.nested(changes_of(case.review)).get(fields.OWN_FIELDS, {})
    slug = values.get("category", changes_of(case.review).get("category"))
    category_id = project.category_id if slug is None else category_slugs.id_of(slug)
    held = {name: (project.fields.get(name), waiting.get(name)) for name in own}
    own_fields.require(own, held, {**project.fields, **waiting, **own}, category_id, own_fields.present())
    return values


def _write_edit(
    case: Case,
    planned: revisions.Plan,
    gives_back: bool,
    needs_verified: bool,
    *,
    by: Caller,
    at: datetime,
    notify: list[Endpoint],
) -> None:
    """Write what an edit changes at once, and what it has wait for review."""
    project, was = case.project, case.project.status
    project.version += 1
    is_answer = not permissions.may(by, "administer") and _go_on(
        case, planned, gives_back, needs_verified, by=by, at=at
    )
    if planned.changes:
        _write(project, planned.changes, at)
        states, changes = {"from_state": was, "to_state": project.status}, fields.nested(planned.changes)
        audit.record_project(events.PROJECT_EDITED, project, by=by, at=at, changes=changes, **states)
        if was == Status.LIVE:
            outbox.enqueue(events.PROJECT_EDITED, case.id, by=by, endpoints=notify, changes=changes)
    if not ADDRESS.isdisjoint(planned.revision_changes):
        _require_free(project, planned.after)
    if was == Status.LIVE:
        revisions.hold(case, planned, by=by, at=at)
    if is_answer:
        outbox.enqueue(events.PROJECT_ANSWERED, case.id, by=by, endpoints=notify)


def _draft(project: Project, planned: revisions.Plan, at: datetime) -> Draft:
    """What waits for review after an edit."""
    if project.status != Status.LIVE:
        return Draft(Judged.EDIT, project, at)
    changed = {name: value for name, value in planned.after.items() if name != "category"}  # about which nobody judges
    return Draft(Judged.EDIT, revisions.after(project, changed), at, of_changes=True)


def judge_seen(project_id: int, seen: frozenset[str], judge: Judge, *, notify: list[Endpoint]) -> None:
    """Have a pending project judged once more, for what was just seen of its links.

    An administrator's own is not judged, now as when it was submitted. Raises NotFound.
    """
    project = locked(project_id)
    owner = next(iter(permissions.reviewers(User.id == project.owner_id)), None)
    if project.status == Status.PENDING:
        _have_judged(judge, Draft(Judged.SUBMISSION, project, now(), seen=seen), project, by=owner, notify=notify)


def _have_judged(judge: Judge, draft: Draft, project: Any, *, by: Caller | None, notify: list[Endpoint]) -> None:
    """Have what a member did with their project judged, and hold or reject it if the verdict says so.

    What administrators do is not judged. Another verdict makes no hold longer.
    """
    if permissions.may(by, "administer"):
        return
    verdict = judge(draft)
    verdict.record(project.owner_id)
    act = {Effect.HOLD: Act.HOLD, Effect.REJECT: Act.REJECT}.get(verdict.effect)
    if act is None:
        return
    case, at = current(project), now()
    if act is Act.REJECT:
        terms = Terms(verdict.reason or "", rule_id=verdict.rule_id)
        move([case], act, by=None, at=at, notify=notify, terms=terms)
    elif case.step(act) is not None:
        advance(case, act, by=None, at=at)
        flush([case])


def _leaves_waiting(project: Project, planned: revisions.Plan) -> bool:
    """Whether an edit changed what waits for review: a pending project, or the changes of a live one."""
    if project.status == Status.LIVE:
        return bool(planned.revision_changes and planned.after)
    return project.status == Status.PENDING


def withdraw(project_id: int, *, by: Caller, versions: Container[int] | None = None) -> None:
    """Withdraw the changes of a live project, waiting or rejected.

    Raises Unauthenticated, NotFound (also without any), NotOwner, PreconditionFailed.
    """
    require_active(by)
    case = current(_locked(project_id, by, versions))
    if case.step(Act.WITHDRAW) is None:
        raise NotFound
    move([case], Act.WITHDRAW, by=by)


def remove(project_id: int, *, by: Caller, notify: list[Endpoint], versions: Container[int] | None = None) -> None:
    """Delete a project. Raises Unauthenticated, NotFound, NotOwner, PreconditionFailed."""
    require_active(by)
    delete_each([_locked(project_id, by, versions)], by=by, notify=notify)
    logos.drop_unused(by.id)


def delete_each(
    projects: Sequence[Any], *, by: Caller | None, notify: list[Endpoint], reason: str | None = None
) -> None:
    """Delete projects with their votes. Their audit entries stay; those of the deletion contain the reason.

    The calling function has locked the account of `by` (require_active), and then the projects in the order of their
    ids: rows with id, url_key, title, status and category_id.
    """
    ids, at = [project.id for project in projects], now()
    entries = [(project, {"from_state": project.status, "category_id": project.category_id}) for project in projects]
    audit.record_each(entries, by=by, action=events.PROJECT_DELETED, at=at, reason=reason)
    if outbox.wanting(events.PROJECT_DELETED, notify):
        outbox.enqueue_each(events.PROJECT_DELETED, catalog.all_stored(ids), by=by, endpoints=notify)
    counters.lock(ids, deleting=True)
    search_index.forget(*ids)
    modify(delete(Project).where(Project.id.in_(ids)))
    outbox.empty(Delivery.project_id.in_(ids))


def locked(project_id: int) -> Project:
    """The project, locked. Raises NotFound: deleting the votes without that lock deadlocked in tests."""
    query = select(Project).where(Project.id == project_id).with_for_update(key_share=True)
    project = db.session.scalars(query, execution_options={"populate_existing": True}).one_or_none()
    if project is None:
        raise NotFound
    return project


def _locked(project_id: int, by: Caller, versions: Container[int] | None) -> Project:
    """Lock the project, and check that `by` may change it and that its version is allowed."""
    project = locked(project_id)
    permissions.require_editor(by, project)
    if versions is not None and project.version not in versions:
        raise PreconditionFailed
    return project


def _go_on(
    case: Case,
    planned: revisions.Plan,
    gives_back: bool,
    needs_verified: bool,
    *,
    by: Caller,
    at: datetime,
) -> bool:
    """Have the owner's edit overtake the last decision, and give back what it gives back.

    Returns whether the owner has answered by it. Raises EmailNotVerified if the owner may not.
    """
    review, of_changes = case.review, case.kind is Reviewed.CHANGES
    if review is None:
        return False
    changed = planned.changes.keys() | planned.revision_changes.keys()
    stays = case.waits_for_owner and (not gives_back or changed <= SHOWN)
    is_answer = case.waits_for_owner and not stays and not (of_changes and not planned.after)
    if is_answer and needs_verified:
        require_verified(by)
    end_appeals([case], Overtaking.EDIT, by=by, at=at)
    if is_answer or (not of_changes and not stays and case.stage not in {Stage.QUEUED, Stage.HELD}):
        give_back(case, by=by, at=at)
    elif case.stage is Stage.DOWN:
        review.decided_at = None
        flush([case])
    return is_answer


def give_back(case: Case, *, by: Caller, at: datetime) -> None:
    """Send what is rejected or waits for its owner back to the queue; the latter to its place there."""
    advance(case, Act.RESUBMIT, by=by, at=at)
    flush([case])
    if case.kind is Reviewed.SUBMISSION and case.review is not None:
        case.project.status, case.project.submitted_at = Status.PENDING, case.review.place


def _write(project: Project, changes: fields.Changes, at: datetime) -> None:
    changed = {name: change["to"] for name, change in changes.items()}
    owner, its, address = project.owner_id, project.id, _address(project, changed)  # the refusal follows a rollback
    with refusing(uq_projects_owner_id_url_key=lambda: _submitted_already(owner, *address, changed, but=its)):
        revisions.write(project, changes, at)


def _require_free(project: Project, later: Mapping[str, Any]) -> None:
    """Raise Duplicate if another project of the owner has the address. No trigger covers the address in a revision."""
    address = _address(project, later)
    if duplicate(project.owner_id, *address, but=project.id) is not None:
        raise _submitted_already(project.owner_id, *address, later, but=project.id)


def _address(project: Project, changed: Mapping[str, Any]) -> Address:
    """The website and the repository of a project after a change."""
    return changed.get("url", project.url), changed.get("repository_url", project.repository_url)


def _submitted_already(
    owner_id: int, url: str, repository_url: str | None, names: Container[str] = ("url",), *, but: int | None = None
) -> Duplicate:
    """The refusal of a project that the owner has submitted before, with that project, if it still exists."""
    row = duplicate(owner_id, url, repository_url, but=but)
    existing = {} if row is None else {"existing": row._asdict()}
    if "url" in names:
        return Duplicate(["url"], _("You have submitted this URL already."), **existing)
    return Duplicate(["repository_url"], OTHER_REPOSITORY, **existing)


def duplicate(owner_id: int, url: str, repository_url: str | None, *, but: int | None = None) -> Any:
    """The owner's oldest project, `but` one, that is a duplicate of this address by the rule of the triggers."""
    repository = repository_key(repository_url)
    held = select(Project.id, Project.title, Project.status).where(
        Project.owner_id == owner_id,
        Project.url_key == url_key(url),
        true() if repository is None else or_(Project.repository_key.is_(None), Project.repository_key == repository),
        Project.id != (but or 0),
    )
    return db.session.execute(held.order_by(Project.id).limit(1)).one_or_none()
