"""Until when a rule holds a revision, and an index of the queue without what is held."""

from alembic import op

from directory.db.schema_changes import build_indexes, in_short_transaction

revision = "0050"
down_revision = "0049"
branch_labels = None
depends_on = None

INSTANT = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}
QUEUE = "ix_projects_queue"
BEFORE = "projects (submitted_at, id) WHERE status = 'pending' AND owner_since IS NULL"
INDEXES = {
    QUEUE: f"{BEFORE} AND held_until IS NULL",
    "ix_revisions_held_until": "revisions (held_until) WHERE held_until IS NOT NULL",
}


def upgrade() -> None:
    bind = op.get_bind()
    column = f"held_until {INSTANT[bind.dialect.name]}"
    if bind.dialect.name == "postgresql":
        adding = f"ALTER TABLE revisions ADD COLUMN IF NOT EXISTS {column}"
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: op.execute(adding))
            build_indexes(bind, INDEXES)
        return
    op.execute(f"ALTER TABLE revisions ADD COLUMN {column}")
    for name, what in INDEXES.items():
        op.execute(f"DROP INDEX IF EXISTS {name}")
        op.execute(f"CREATE INDEX {name} ON {what}")


def downgrade() -> None:
    """Go back: held revisions are in the queue."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute(f"CREATE INDEX {QUEUE} ON {BEFORE}")
    op.execute("ALTER TABLE revisions DROP COLUMN held_until")
