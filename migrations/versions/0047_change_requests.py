"""What waits for its owner because changes were asked for, until when, and how often that was in one submission."""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import (
    add_project_column,
    build_indexes,
    drop_project_column,
    in_short_transaction,
)

revision = "0047"
down_revision = "0046"
branch_labels = None
depends_on = None

INSTANT = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}
NUMBER = "INTEGER NOT NULL DEFAULT 0"
INDEXES = {
    "ix_projects_closes_at": "projects (closes_at) WHERE closes_at IS NOT NULL",
    "ix_revisions_closes_at": "revisions (closes_at) WHERE closes_at IS NOT NULL",
}


def upgrade() -> None:
    bind = op.get_bind()
    instant = INSTANT[bind.dialect.name]
    add_project_column("closes_at", instant)
    add_project_column("change_requests", NUMBER)
    columns = {"owner_since": instant, "closes_at": instant, "change_requests": NUMBER}
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: add_to_revisions("ADD COLUMN IF NOT EXISTS", columns))
            build_indexes(bind, INDEXES)
        return
    add_to_revisions("ADD COLUMN", columns)
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")


def add_to_revisions(adding: str, columns: dict[str, str]) -> None:
    for name, kind in columns.items():
        op.execute(f"ALTER TABLE revisions {adding} {name} {kind}")


def downgrade() -> None:
    """Go back: changes that wait for their owners are in the queue again, and nothing closes by itself."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    for name in ("owner_since", "closes_at", "change_requests"):
        op.execute(sa.text(f"ALTER TABLE revisions DROP COLUMN {name}"))
    for name in ("closes_at", "change_requests"):
        drop_project_column(name)
