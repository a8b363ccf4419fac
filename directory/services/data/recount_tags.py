"""Whether the counters of the tags agree with the projects, and putting them right where they do not.

As with `recount`, a look takes no locks and finds suspicions; `confirm` looks again under a lock, and finds faults.
"""

from sqlalchemy import func, select, text, true

from directory.db.transactions import lift_time_limits, on_postgresql
from directory.extensions import db
from directory.models import Project, Status, TagCount
from directory.services.catalog.paging import AnySelect
from directory.services.data.recount import Fault, rebuild


def look() -> list[Fault]:
    """The counters that differ from the live projects with the tag. A counter that is missing is one of zero."""
    lift_time_limits()
    stored = {row.tag: row.live_projects for row in db.session.execute(select(TagCount.tag, TagCount.live_projects))}
    counted: dict[str, int] = dict(db.session.execute(_counted()).all())
    compared = (
        Fault("tagged", None, stored.get(tag, 0), counted.get(tag, 0), tag) for tag in sorted({*stored, *counted})
    )
    return [fault for fault in compared if fault.stored != fault.right]


def confirm(*, repair: bool) -> list[Fault]:
    """Lock the counters, and return those that differ; repair them if asked."""
    if on_postgresql():  # with SQLite this transaction is the only one that writes
        db.session.execute(text("LOCK TABLE tag_counts IN SHARE ROW EXCLUSIVE MODE"))
    faults = look()
    if faults and repair:
        rebuild(TagCount, ["tag", "live_projects"], _counted())
    return faults


def _counted() -> AnySelect:
    """The tags of live projects, counted from the projects themselves, as the triggers do."""
    unnest = func.jsonb_array_elements_text if on_postgresql() else func.json_each
    tags = unnest(Project.tags).table_valued("value", name="tags")
    query: AnySelect = select(tags.c.value, func.count()).select_from(Project).join(tags, true())
    return query.where(Project.status == Status.LIVE).group_by(tags.c.value)
