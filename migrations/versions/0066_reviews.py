"""What is under review, and how it was decided, as rows of their own: one current case for each project that has one.

Processes of the version before read on, from the columns and the table of before, which 0072 drops once they are
replaced. What they would write meanwhile is refused by READ_ONLY, or by a trigger. On PostgreSQL the cases are written
in portions, and every step can be run again.
"""

from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.portions import AT_ONCE, Portions
from directory.db.schema_changes import build_indexes, in_portion, in_short_transaction

revision = "0066"
down_revision = "0065"
branch_labels = None
depends_on = None

INSTANT = sa.DateTime(timezone=True)
NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
QUEUED = "turn = 'reviewers'"
CURRENT = {"postgresql": "is_current", "sqlite": "is_current = 1"}
INDEXES = {
    "ix_reviews_project_id": "(project_id)",
    "ix_reviews_queue": f"(place, project_id) WHERE {QUEUED}",
    "ix_reviews_queue_of_category": f"(category_id, place, project_id) WHERE {QUEUED}",
    "ix_reviews_elsewhere": "(turn, category_id) WHERE turn <> 'reviewers'",
    "ix_reviews_changes": f"(category_id) WHERE {QUEUED} AND kind = 'changes'",
    "ix_reviews_until": "(until) WHERE until IS NOT NULL",
    "ix_reviews_category": "(category) WHERE category IS NOT NULL",
    "ix_reviews_logo": "(logo) WHERE logo IS NOT NULL",
}
OF_WAIT = ("owner_since", "closes_at", "change_requests", "held_until", "measured_from", "reminded_at")
TIMES = {"owner_since", "closes_at", "held_until", "measured_from", "reminded_at"}
PROJECTS = sa.table(
    "projects",
    *(sa.column(name, INSTANT) for name in ("updated_at", "submitted_at", "decided_at", "appealed_at")),
    *(sa.column(name, INSTANT if name in TIMES else sa.Integer()) for name in OF_WAIT),
    *map(sa.column, ("id", "status", "version", "category_id", "rejection_reason", "decided_by")),
)
REVISIONS = sa.table(
    "revisions",
    *(sa.column(name, INSTANT) for name in ("submitted_at", "waited_since")),
    *(sa.column(name, INSTANT if name in TIMES else sa.Integer()) for name in OF_WAIT),
    *(sa.column(name, sa.JSON(none_as_null=True)) for name in ("changes", "rejected")),
    *map(sa.column, ("project_id", "category", "logo", "reason")),
)
REVIEWS = sa.table(
    "reviews",
    *(sa.column(name, INSTANT) for name in ("since", "until", "reminded_at", "place", "measured_from", "decided_at")),
    sa.column("changes", sa.JSON(none_as_null=True)),
    sa.column("is_current", sa.Boolean()),
    *map(sa.column, ("project_id", "kind", "turn", "asked", "requests", "category", "logo", "category_id")),
    *map(sa.column, ("outcome", "reason", "decided_by")),
)
ACTIONS = sa.table("rule_actions", *map(sa.column, ("project_id", "version", "effect")), sa.column("acted", sa.Boolean()))


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, partial(make_table, bind))
            build_indexes(bind, {name: f"reviews {what}" for name, what in INDEXES.items()})
            in_short_transaction(bind, partial(begin, bind))
            write_each(bind)
            op.execute("ANALYZE reviews")
        return
    make_table(bind)
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON reviews {what}")
    begin(bind)
    write_each(bind)


def make_table(bind: sa.Connection) -> None:
    """Make the table, unless an interrupted run has made it."""
    if sa.inspect(bind).has_table("reviews"):
        return
    outcomes = "'approved', 'rejected', 'rejected_by_rule', 'rejected_by_time', 'withdrawn', 'unpublished', 'reversed'"
    rules = {
        "kind": "kind IN ('submission', 'changes')",
        "turn": "turn IN ('reviewers', 'rule', 'owner', 'appeal')",
        "asked": "asked IN ('changes_requested', 'unpublished')",
        "outcome": f"outcome IN ({outcomes})",
        "open_or_closed": "turn IS NOT NULL OR outcome IS NOT NULL",
        "current": "is_current OR turn IS NULL",
        "past": "is_current OR (changes IS NULL AND logo IS NULL AND reason IS NULL)",
        "category": "outcome IS NULL OR category IS NULL",
        "changes": "NOT is_current OR (kind = 'changes') = (changes IS NOT NULL)",
    }
    keys = (
        (["project_id"], "projects.id", {"ondelete": "CASCADE"}),
        (["category"], "categories.slug", {"onupdate": "CASCADE", "ondelete": "RESTRICT"}),
        (["logo"], "logos.digest", {}),
    )
    op.create_table(
        "reviews",
        sa.Column("id", NUMBER, nullable=False),
        sa.Column("project_id", NUMBER, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("turn", sa.String(16)),
        sa.Column("is_current", sa.Boolean(), server_default=sa.true(), nullable=False),
        sa.Column("since", INSTANT, nullable=False),
        sa.Column("until", INSTANT),
        sa.Column("reminded_at", INSTANT),
        sa.Column("place", INSTANT, nullable=False),
        sa.Column("asked", sa.String(20)),
        sa.Column("requests", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("measured_from", INSTANT),
        sa.Column("changes", sa.JSON()),
        sa.Column("category", sa.String(50)),
        sa.Column("logo", sa.String(64)),
        sa.Column("category_id", NUMBER, nullable=False),
        sa.Column("outcome", sa.String(20)),
        sa.Column("reason", sa.String(1000)),
        sa.Column("decided_at", INSTANT),
        sa.Column("decided_by", NUMBER),
        sa.PrimaryKeyConstraint("id", name="pk_reviews"),
        *(sa.CheckConstraint(rule, name=op.f(f"ck_reviews_{name}")) for name, rule in rules.items()),
        *(
            sa.ForeignKeyConstraint(ours, [theirs], name=f"fk_reviews_{ours[0]}_{theirs.split('.')[0]}", **more)
            for ours, theirs, more in keys
        ),
        sqlite_autoincrement=True,
    )
    one = CURRENT[bind.dialect.name]
    op.execute(f"CREATE UNIQUE INDEX uq_reviews_current ON reviews (project_id) WHERE {one}")


def begin(bind: sa.Connection) -> None:
    """Have triggers keep the cases, in place of those of the table of before."""
    for table, name in (("projects", "projects_revision_dropped"), ("revisions", "revisions_pictured")):
        if bind.dialect.name == "postgresql":
            op.execute(f"DROP TRIGGER IF EXISTS {name} ON {table}")
            op.execute(f"DROP FUNCTION IF EXISTS {name}()")
        else:
            for each in (name, f"{name}_in", f"{name}_over", f"{name}_out"):
                op.execute(f"DROP TRIGGER IF EXISTS {each}")
    sql_files.install(bind, "reviews")


def write_each(bind: sa.Connection) -> None:
    """Write the case of each project that has one, and not yet, some at a time."""
    is_there = sa.exists().where(REVIEWS.c.project_id == PROJECTS.c.id, REVIEWS.c.is_current)
    has_one = sa.or_(PROJECTS.c.status != "live", REVISIONS.c.project_id.is_not(None))
    joined = PROJECTS.outerjoin(REVISIONS, REVISIONS.c.project_id == PROJECTS.c.id)
    due = sa.select(PROJECTS.c.id).select_from(joined).where(has_one, ~is_there).order_by(PROJECTS.c.id)
    portions, after = Portions("writing cases"), 0
    while ids := list(bind.scalars(due.where(PROJECTS.c.id > after).limit(portions.size))):
        if bind.dialect.name == "postgresql":
            in_portion(bind, portions, len(ids), partial(write, bind, ids))
        else:
            write(bind, ids)
            portions.size = AT_ONCE
        after = ids[-1]


def write(bind: sa.Connection, ids: list[int]) -> None:
    """Write the cases of some projects, which are locked as by every decision."""
    locking = sa.select(PROJECTS.c.id).where(PROJECTS.c.id.in_(ids)).order_by(PROJECTS.c.id)
    bind.execute(locking.with_for_update(key_share=True))
    acted = sa.exists().where(
        ACTIONS.c.project_id == PROJECTS.c.id, ACTIONS.c.version == PROJECTS.c.version, ACTIONS.c.acted,
        ACTIONS.c.effect == "reject",
    )  # fmt: skip
    columns = [*PROJECTS.c, *(column.label(f"its_{column.name}") for column in REVISIONS.c), acted.label("by_rule")]
    joined = PROJECTS.outerjoin(REVISIONS, REVISIONS.c.project_id == PROJECTS.c.id)
    is_there = sa.exists().where(REVIEWS.c.project_id == PROJECTS.c.id, REVIEWS.c.is_current)
    found = bind.execute(sa.select(*columns).select_from(joined).where(PROJECTS.c.id.in_(ids), ~is_there)).all()
    if cases := [case for row in found if (case := case_of(row)) is not None]:
        bind.execute(REVIEWS.insert(), cases)


def case_of(row: Any) -> dict[str, Any] | None:
    """The case of a project, by its columns and those of its revision; None for one that changed meanwhile."""
    if row.status == "live":
        return None if row.its_project_id is None else of_changes(row)
    case = {"kind": "submission", "changes": None, "category": None, "logo": None, **whose(row, "", row.submitted_at)}
    if row.status == "rejected":
        case |= closed(row, row.rejection_reason)
    elif row.appealed_at is not None:  # against an unpublishing: the time before with its owner is left out
        began = (row.measured_from or row.submitted_at) + (row.appealed_at - (row.owner_since or row.appealed_at))
        case |= {"turn": "appeal", "since": row.appealed_at, "until": None, "measured_from": began}
    return {"reason": row.rejection_reason, **case, **of_project(row)}


def of_changes(row: Any) -> dict[str, Any]:
    """The case of changes of a live project: they wait, or were rejected."""
    about = {"kind": "changes", "logo": row.its_logo}
    if row.its_submitted_at is not None:
        waits = whose(row, "its_", row.its_submitted_at)
        texts = {"changes": row.its_changes, "category": row.its_category, "reason": None}
        return {**about, **waits, **texts, **of_project(row)}
    place = row.its_waited_since or row.decided_at or row.updated_at
    texts = {"changes": row.its_rejected or {}, "category": None}
    return {**about, **whose(row, "its_", place), **closed(row, row.its_reason), **texts, **of_project(row)}


def whose(row: Any, prefix: str, place: Any) -> dict[str, Any]:
    """Whose turn it is in an open case."""
    owner_since, until, requests, held, measured_from, reminded = (getattr(row, prefix + name) for name in OF_WAIT)
    case = {"turn": "reviewers", "since": place, "until": None, "place": place, "asked": None, "outcome": None}
    case |= {"requests": requests, "measured_from": measured_from, "reminded_at": reminded}
    if owner_since is not None:
        asked = "changes_requested" if prefix or requests > 0 else "unpublished"
        return case | {"turn": "owner", "since": owner_since, "until": until, "asked": asked}
    return case if held is None else {**case, "turn": "rule", "until": held}


def closed(row: Any, reason: str | None) -> dict[str, Any]:
    """How it was rejected, and whether an appeal against that is open."""
    is_late = row.decided_by is None and (reason or "").startswith("No answer within ")
    outcome = "rejected_by_rule" if row.by_rule else "rejected_by_time" if is_late else "rejected"
    turn, since = ("appeal", row.appealed_at) if row.appealed_at else (None, row.decided_at or row.updated_at)
    return {"turn": turn, "since": since, "until": None, "asked": None, "outcome": outcome, "reason": reason}


def of_project(row: Any) -> dict[str, Any]:
    decided = {"decided_at": row.decided_at, "decided_by": row.decided_by}
    return {"project_id": row.id, "category_id": row.category_id, "is_current": True, **decided}


def downgrade() -> None:
    """Go back: the current cases become columns again, and the past ones are lost."""
    bind = op.get_bind()
    names = ("projects_reviewed_in", "projects_reviewed_over", "projects_reviewed_elsewhere")
    if bind.dialect.name == "postgresql":
        for name in (*names, "reviews_pictured"):
            op.execute(f"DROP FUNCTION {name}() CASCADE")
    else:
        for name in names:
            op.execute(f"DROP TRIGGER {name}")
    forget(bind)
    columns = [*REVIEWS.c, *(PROJECTS.c[name] for name in ("id", "status"))]
    joined = REVIEWS.join(PROJECTS, PROJECTS.c.id == REVIEWS.c.project_id)
    after = 0
    while found := bind.execute(
        sa.select(*columns).select_from(joined).where(REVIEWS.c.is_current, PROJECTS.c.id > after)
        .order_by(PROJECTS.c.id).limit(AT_ONCE)
    ).all():  # fmt: skip
        for row in found:
            put_back(bind, row)
        after = found[-1].id
    op.drop_table("reviews")
    triggers = Path(__file__).with_name(f"0066_triggers_{bind.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in [triggers] if bind.dialect.name == "postgresql" else triggers.split("\n\n")[1:]:
        bind.exec_driver_sql(statement)


def forget(bind: sa.Connection) -> None:
    """Empty what 0072 drops: nothing has kept it up to date since 0066."""
    bind.execute(REVISIONS.delete())
    names = {"rejection_reason", "decided_at", "decided_by", "appealed_at", *OF_WAIT} - {"change_requests"}
    stale = sa.or_(PROJECTS.c.change_requests > 0, *(PROJECTS.c[name].is_not(None) for name in sorted(names)))
    bind.execute(sa.update(PROJECTS).where(stale).values({**dict.fromkeys(names), "change_requests": 0}))


def put_back(bind: sa.Connection, row: Any) -> None:
    """Write a case into the columns of before."""
    with_owner = row.turn == "owner" or (row.turn == "appeal" and row.outcome is None)
    wait = {
        "owner_since": row.since if with_owner else None, "closes_at": row.until if row.turn == "owner" else None,
        "change_requests": row.requests, "held_until": row.until if row.turn == "rule" else None,
        "measured_from": row.measured_from, "reminded_at": row.reminded_at,
    }  # fmt: skip
    own = {"decided_at": row.decided_at, "decided_by": row.decided_by}
    own["appealed_at"] = row.since if row.turn == "appeal" else None
    if row.kind == "submission":
        own |= {**wait, "rejection_reason": row.reason}
    else:
        waits = row.outcome is None
        bind.execute(
            REVISIONS.insert().values(
                project_id=row.project_id, changes=row.changes if waits else {}, category=row.category, logo=row.logo,
                submitted_at=row.place if waits else None, waited_since=None if waits else row.place,
                reason=row.reason, rejected=None if waits else row.changes, **wait,
            )
        )  # fmt: skip
    bind.execute(sa.update(PROJECTS).where(PROJECTS.c.id == row.project_id).values(own))
