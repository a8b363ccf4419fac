"""Compare counters (categories, users, tags, own fields, days), and the changes that wait, with the rows; repair them.

Each `Check` looks without locks, and confirms under them, as `recount` does with the projects.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import Table, delete, exists, func, insert, literal, or_, select, text, true, union_all, update

from directory.db.paging import AnySelect
from directory.db.transactions import lift_time_limits, on_postgresql
from directory.extensions import db, modify
from directory.models import (
    DAY_COUNTS,
    NEVER,
    AuditEntry,
    Category,
    FieldCount,
    LastUse,
    Project,
    ProjectField,
    Review,
    Status,
    TagCount,
    Upvote,
    User,
    UserCount,
    UserSubmissions,
    now,
)
from directory.services import day_counts, turns
from directory.services.catalog import fields
from directory.services.catalog.queries import COUNTERS
from directory.services.data.recount import Fault, record_repair
from directory.services.review.case import advance, changes_of, current, flush
from directory.services.review.steps import Act


class Check(NamedTuple):
    """What is checked in addition to the projects: a comparison, the locks under which it is right, and a repair."""

    compared: Callable[[], Iterable[Fault]]
    lock: Callable[[], object]
    repair: Callable[[list[Fault]], object]

    def look(self) -> list[Fault]:
        """The suspected faults."""
        lift_time_limits()
        return [fault for fault in self.compared() if fault.stored != fault.right]

    def confirm(self, *, repair: bool) -> list[Fault]:
        """The faults under the locks; repaired if `repair` asks for it."""
        self.lock()
        faults = self.look()
        if faults and repair:
            self.repair(faults)
            record_repair(faults)
        return faults


def _lock_tables(*models: Any) -> None:
    """Let no other transaction write to the tables. With SQLite this one is the only one that writes."""
    if on_postgresql():
        names = ", ".join(model.__tablename__ for model in models)
        db.session.execute(text(f"LOCK TABLE {names} IN SHARE ROW EXCLUSIVE MODE"))


def _rebuild(model: Any, names: list[str], counted: AnySelect) -> None:
    """Replace all rows of a table of counters by what a query counts, its columns in the order of `names`."""
    modify(delete(model))
    db.session.execute(insert(model).from_select(names, counted))


def _compared_categories() -> Iterator[Fault]:
    columns = (Category.id, Category.slug, *COUNTERS.values())
    stored = list(db.session.execute(select(*columns).order_by(Category.id)))
    groups = select(Project.category_id, Project.status, func.count()).group_by(Project.category_id, Project.status)
    counted = {(category_id, status): size for category_id, status, size in db.session.execute(groups)}
    for category in stored:
        for status, counter in COUNTERS.items():
            right = counted.get((category.id, status), 0)
            yield Fault(counter.key, None, getattr(category, counter.key), right, category.slug)


def _lock_categories() -> None:
    """A transaction that changed a counter holds its row until it commits: a count has all of its change, or none."""
    db.session.execute(select(Category.id).order_by(Category.id).with_for_update(key_share=True))


def _repair_categories(faults: list[Fault]) -> None:
    for fault in faults:
        modify(update(Category).where(Category.slug == fault.name).values({fault.kind: fault.right}))


_USERS: AnySelect = select(User.stored_role, User.status, func.count()).group_by(User.stored_role, User.status)
_OWNED = select(Project.owner_id, func.count().label("size")).group_by(Project.owner_id).subquery()
_SIZE = func.coalesce(_OWNED.c.size, 0)
_SUBMITTED: AnySelect = select(User.id, _SIZE).outerjoin(_OWNED, _OWNED.c.owner_id == User.id)


def _compared_users() -> Iterator[Fault]:
    """The numbers of users of a stored role and a status, and a user's number of submissions; -1 if it is missing."""
    stored = {row[:2]: row[2] for row in db.session.execute(select(UserCount.role, UserCount.status, UserCount.users))}
    counted = {row[:2]: row[2] for row in db.session.execute(_USERS)}
    for kind in sorted({*stored, *counted}):
        role, status = kind
        yield Fault(f"{status} {role}s", None, stored.get(kind, 0), counted.get(kind, 0))
    shown = func.coalesce(UserSubmissions.submissions, -1)
    query = _SUBMITTED.add_columns(User.username, shown).outerjoin(UserSubmissions, UserSubmissions.user_id == User.id)
    for _, right, name, held in db.session.execute(query.where(shown != _SIZE).order_by(User.id)):
        yield Fault("submissions", None, held, right, name)


def _repair_users(_faults: list[Fault]) -> None:
    _rebuild(UserCount, ["role", "status", "users"], _USERS)
    _rebuild(UserSubmissions, ["user_id", "submissions"], _SUBMITTED)


_UNSEEN = ~exists().where(LastUse.user_id == User.id)


def _compared_uses() -> Iterator[Fault]:
    """Users whose last use has no row."""
    for name in db.session.scalars(select(User.username).where(_UNSEEN).order_by(User.id)):
        yield Fault("rows of last uses", None, 0, 1, name)


def _repair_uses(_faults: list[Fault]) -> None:
    """Add the rows; the times are lost."""
    missing = select(User.id, literal(NEVER)).where(_UNSEEN)
    db.session.execute(insert(LastUse).from_select(["user_id", "seen_at"], missing))


def _compared_tags() -> Iterator[Fault]:
    """A counter that is missing is one of zero."""
    stored = {row.tag: row.live_projects for row in db.session.execute(select(TagCount.tag, TagCount.live_projects))}
    counted: dict[str, int] = dict(db.session.execute(_counted_tags()).all())
    for tag in sorted({*stored, *counted}):
        yield Fault("tagged", None, stored.get(tag, 0), counted.get(tag, 0), tag)


def _counted_tags() -> AnySelect:
    """The tags of live projects, counted from the projects themselves, as the triggers do."""
    unnest = func.jsonb_array_elements_text if on_postgresql() else func.json_each
    tags = unnest(Project.tags).table_valued("value", name="tags")
    query: AnySelect = select(tags.c.value, func.count()).select_from(Project).join(tags, true())
    return query.where(Project.status == Status.LIVE).group_by(tags.c.value)


def _repair_tags(_faults: list[Fault]) -> None:
    _rebuild(TagCount, ["tag", "live_projects"], _counted_tags())


def _compared_fields() -> Iterator[Fault]:
    """A counter that is missing is one of zero."""
    stored = {row[:-1]: row[-1] for row in db.session.execute(select(*FieldCount.__table__.c))}
    counted = {row[:-1]: row[-1] for row in db.session.execute(_COUNTED_FIELDS)}
    for key in sorted({*stored, *counted}):
        field, value, number, category_id = key
        said = f"{field} {value or f'{number:g}'} in category {category_id}"
        yield Fault("chosen", None, stored.get(key, 0), counted.get(key, 0), said)


_VALUES = ProjectField.field, ProjectField.value, func.coalesce(ProjectField.number, 0), Project.category_id
_COUNTED_FIELDS: AnySelect = (
    select(*_VALUES, func.count())
    .join(Project, Project.id == ProjectField.project_id)
    .where(Project.status == Status.LIVE, or_(ProjectField.value != "", ProjectField.number.is_not(None)))
    .group_by(*_VALUES)
)


def _repair_fields(_faults: list[Fault]) -> None:
    _rebuild(FieldCount, [column.name for column in FieldCount.__table__.c], _COUNTED_FIELDS)


def _wrong_days() -> AnySelect:
    """The kinds and days whose number is wrong, with what is counted and what is right, in one snapshot.

    Of votes only the days that were counted: those of the others are counted when they are asked for.
    """

    def found(kind: Any, at: Any) -> AnySelect:
        columns = kind.label("kind"), day_counts.day_of(at).label("day"), literal(0).label("stored")
        return select(*columns, func.count().label("found")).group_by("kind", "day")

    counted, until = DAY_COUNTS.c, day_counts.counted_until()
    votes, is_of_votes = literal(day_counts.UPVOTES), counted.kind == day_counts.UPVOTES
    stored = select(counted.kind, counted.day, counted.number, literal(0)).where(counted.kind != day_counts.UNTIL)
    rows = (
        found(votes, Upvote.created_at).where(day_counts.day_of(Upvote.created_at) <= until),
        found(literal(day_counts.SIGNUPS), User.created_at),
        found(AuditEntry.action, AuditEntry.at),
        stored.where(or_(~is_of_votes, counted.day <= until)),
    )
    days = union_all(*rows).subquery("days").c
    sums = func.sum(days.stored), func.sum(days.found)
    return select(days.kind, days.day, *sums).group_by(days.kind, days.day).having(sums[0] != sums[1])


def _compared_days() -> Iterator[Fault]:
    for kind, day, stored, right in db.session.execute(_wrong_days().order_by("kind", "day")):
        yield Fault("days", None, int(stored), int(right), f"{kind} of {day}")


def _lock_repairs(table: Table) -> None:
    """Let no other repair add the same rows; all others may write meanwhile."""
    if on_postgresql():
        db.session.execute(text(f"LOCK TABLE {table.name} IN SHARE UPDATE EXCLUSIVE MODE"))


def _repair_days(_faults: list[Fault]) -> None:
    wrong = _wrong_days().subquery("wrong").c
    rows = select(wrong.kind, wrong.day, wrong[3] - wrong[2])
    db.session.execute(insert(DAY_COUNTS).from_select(["kind", "day", "number"], rows))


def _compared_changes() -> Iterator[Fault]:
    """The fields of the changes that wait of each live project, and those of them that need a decision."""
    query = select(Review, Project).join(Project, Project.id == Review.project_id).order_by(Project.id)
    query = query.where(Review.is_current, turns.of_changes(), Review.outcome.is_(None), Project.status == Status.LIVE)
    for review, project in db.session.execute(query, execution_options={"populate_existing": True}):
        held = changes_of(review)
        differing = fields.differences(fields.current(project, held), held)
        yield Fault("revision", project.id, list(held) or ["nothing"], list(differing))


def _lock_changes() -> None:
    """Lock the projects of the changes."""
    ids = select(Project.id).join(Review, Review.project_id == Project.id).order_by(Project.id)
    ids = ids.where(Review.is_current, turns.of_changes())
    db.session.execute(ids.with_for_update(key_share=True, of=Project))


def _repair_changes(faults: list[Fault]) -> None:
    """Leave the fields out that need no decision, and withdraw what then has none."""
    for fault in faults:
        case = current(db.session.get_one(Project, fault.project_id))
        case.project.version += 1
        if not fault.right or case.review is None:
            advance(case, Act.WITHDRAW, by=None, at=now())
        else:
            changes = fields.flat(case.review.changes or {})
            case.review.changes = fields.nested({name: value for name, value in changes.items() if name in fault.right})
            case.review.category = case.review.category if "category" in fault.right else None
        flush([case])


CATEGORIES = Check(_compared_categories, _lock_categories, _repair_categories)
USERS = Check(_compared_users, partial(_lock_tables, UserCount, UserSubmissions), _repair_users)
TAGS = Check(_compared_tags, partial(_lock_tables, TagCount), _repair_tags)
FIELDS = Check(_compared_fields, partial(_lock_tables, FieldCount, ProjectField), _repair_fields)
REVISIONS = Check(_compared_changes, _lock_changes, _repair_changes)
DAYS = Check(_compared_days, partial(_lock_repairs, DAY_COUNTS), _repair_days)
USES = Check(_compared_uses, partial(_lock_repairs, LastUse.__table__), _repair_uses)
CHECKS = (CATEGORIES, USERS, USES, TAGS, FIELDS, DAYS, REVISIONS)


def look_beside() -> list[Fault]:
    """The suspected faults of all that is checked in addition to the projects."""
    return [fault for check in CHECKS for fault in check.look()]
