"""Whether each revision is of a live project and holds what differs from it; the rest is removed, as `recount` does."""

from sqlalchemy import select

from directory.db.transactions import lift_time_limits
from directory.extensions import db
from directory.models import Project, Revision, Status
from directory.services import revisions
from directory.services.catalog import fields
from directory.services.data.recount import Fault

KIND = "revision"


def look() -> list[Fault]:
    """The revisions that hold fields which need no decision: all of those of a project that is not live."""
    lift_time_limits()
    found = db.session.execute(
        select(Revision, Project).join(Project, Project.id == Revision.project_id).order_by(Project.id),
        execution_options={"populate_existing": True},
    )
    compared = (_compared(revision, project) for revision, project in found)
    return [fault for fault in compared if fault.stored != fault.right]


def confirm(*, repair: bool) -> list[Fault]:
    """Lock the projects of the revisions, and return those that hold too much; repair them if asked."""
    ids = select(Project.id).join(Revision, Revision.project_id == Project.id).order_by(Project.id)
    db.session.execute(ids.with_for_update(key_share=True, of=Project))
    faults = look()
    for fault in faults if repair else ():
        _repair(fault)
    return faults


def _compared(revision: Revision, project: Project) -> Fault:
    """The fields that a revision has, and those of them that it should have. A note of a rejection has no fields."""
    held, is_live = revisions.changes_of(revision), project.status == Status.LIVE
    if revision.submitted_at is None:
        return Fault(KIND, project.id, ["refusal"], ["refusal"] if is_live else [])
    differing = fields.differences(fields.current(project, held), held) if is_live else {}
    return Fault(KIND, project.id, list(held) or ["nothing"], list(differing))


def _repair(fault: Fault) -> None:
    revision = db.session.get_one(Revision, fault.project_id)
    db.session.get_one(Project, fault.project_id).version += 1
    if not fault.right:
        db.session.delete(revision)
        return
    revision.changes = {name: value for name, value in revision.changes.items() if name in fault.right}
    revision.category = revision.category if "category" in fault.right else None
