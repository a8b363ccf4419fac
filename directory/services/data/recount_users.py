"""Whether the counters of users agree with the rows, and putting them right where they do not, as `recount` does."""

from sqlalchemy import func, select, text

from directory.db.transactions import lift_time_limits, on_postgresql
from directory.extensions import db
from directory.models import Project, User, UserCount, UserSubmissions
from directory.services.catalog.paging import AnySelect
from directory.services.data.recount import Fault, rebuild

_OF_A_KIND: AnySelect = select(User.role, User.status, func.count()).group_by(User.role, User.status)
_COUNTED = select(Project.owner_id, func.count().label("size")).group_by(Project.owner_id).subquery()
_SIZE = func.coalesce(_COUNTED.c.size, 0)
_SUBMITTED: AnySelect = select(User.id, _SIZE).outerjoin(_COUNTED, _COUNTED.c.owner_id == User.id)


def look() -> list[Fault]:
    """The counters that differ: the numbers of users of a role and a status, and of submissions of a user."""
    lift_time_limits()
    stored = {row[:2]: row[2] for row in db.session.execute(select(UserCount.role, UserCount.status, UserCount.users))}
    counted = {row[:2]: row[2] for row in db.session.execute(_OF_A_KIND)}
    compared = (
        Fault(f"{status} {role}s", None, stored.get((role, status), 0), counted.get((role, status), 0))
        for role, status in sorted({*stored, *counted})
    )
    return [fault for fault in compared if fault.stored != fault.right] + _submissions()


def confirm(*, repair: bool) -> list[Fault]:
    """Lock the counters, and return those that differ; repair them if asked."""
    if on_postgresql():  # with SQLite this transaction is the only one that writes
        db.session.execute(text("LOCK TABLE user_counts, user_submissions IN SHARE ROW EXCLUSIVE MODE"))
    faults = look()
    if faults and repair:
        rebuild(UserCount, ["role", "status", "users"], _OF_A_KIND)
        rebuild(UserSubmissions, ["user_id", "submissions"], _SUBMITTED)
    return faults


def _submissions() -> list[Fault]:
    """A missing count is shown as -1."""
    stored = func.coalesce(UserSubmissions.submissions, -1)
    query = _SUBMITTED.add_columns(User.username, stored).outerjoin(UserSubmissions, UserSubmissions.user_id == User.id)
    rows = db.session.execute(query.where(stored != _SIZE).order_by(User.id))
    return [Fault("submissions", None, stored, right, name) for _, right, name, stored in rows]
