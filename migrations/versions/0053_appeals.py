"""Who made the last rejection or unpublishing of a project, since when an appeal is open, and the place of rejected
changes in the queue.

What was decided before is read from the log. On PostgreSQL it is written in portions, while others read and write.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.portions import Portions
from directory.db.schema_changes import (
    add_project_column,
    build_indexes,
    drop_project_column,
    in_portion,
    in_short_transaction,
)

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

INSTANT = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}
NUMBER = {"postgresql": "BIGINT", "sqlite": "INTEGER"}
INDEX, INDEXED = "ix_projects_appealed_at", "projects (appealed_at) WHERE appealed_at IS NOT NULL"
# The states of a project in which its owner may appeal, each with the decision that led to it.
CASES = {
    "project.rejected": "status = 'rejected'",
    "project.unpublished": "status = 'pending' AND owner_since IS NOT NULL AND change_requests = 0",
    "project.edit_rejected": (
        "status = 'live' AND id IN (SELECT project_id FROM revisions WHERE submitted_at IS NULL)"
    ),
}
LAST = (
    "(SELECT {column} FROM audit_entries WHERE audit_entries.project_id = projects.id "
    "AND action = '{action}' ORDER BY audit_entries.id DESC LIMIT 1)"
)
NEXT = "SELECT id FROM projects WHERE id > :after AND {case} ORDER BY id LIMIT :size"


def upgrade() -> None:
    bind = op.get_bind()
    instant, number = (kinds[bind.dialect.name] for kinds in (INSTANT, NUMBER))
    add_project_column("decided_at", instant)
    add_project_column("decided_by", number)
    add_project_column("appealed_at", instant)
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            adding = f"ALTER TABLE revisions ADD COLUMN IF NOT EXISTS waited_since {instant}"
            in_short_transaction(bind, lambda: op.execute(adding))
            build_indexes(bind, {INDEX: INDEXED})
            for action, case in CASES.items():
                note_deciders(bind, action, case)
        return
    op.execute(f"ALTER TABLE revisions ADD COLUMN waited_since {instant}")
    op.execute(f"CREATE INDEX {INDEX} ON {INDEXED}")
    for action, case in CASES.items():
        op.execute(f"{noting(action)} WHERE {case}")


def noting(action: str) -> str:
    last = {name: LAST.format(column=name, action=action) for name in ("at", "actor_id")}
    return f"UPDATE projects SET decided_at = {last['at']}, decided_by = {last['actor_id']}"


def note_deciders(bind: sa.Connection, action: str, case: str) -> None:
    """Note the deciders in the order of the projects' ids, as locks are taken. What is done can be done again."""
    portions, after = Portions("noting who decided"), 0
    following = sa.text(NEXT.format(case=case))
    while ids := list(bind.execute(following, {"after": after, "size": portions.size}).scalars()):
        these = sa.text(f"{noting(action)} WHERE id = ANY(:ids) AND decided_at IS NULL AND {case}")
        these = these.bindparams(sa.bindparam("ids", ids, sa.ARRAY(sa.BigInteger)))
        in_portion(bind, portions, len(ids), lambda these=these: bind.execute(these))  # type: ignore[misc]
        after = ids[-1]


def downgrade() -> None:
    """Go back: open appeals are forgotten. What was unpublished then waits for its owner, and never closes."""
    op.execute(f"DROP INDEX {INDEX}")
    op.execute("ALTER TABLE revisions DROP COLUMN waited_since")
    for name in ("decided_at", "decided_by", "appealed_at"):
        drop_project_column(name)
