"""What is taken down waits for its owner, and rejected changes of a live project keep what was written.

Projects that were taken down before stay in the queue.
"""

from alembic import op

from directory.db.schema_changes import add_project_column, build_indexes, drop_project_column, in_short_transaction

revision = "0035"
down_revision = "0034"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_projects_queue": "projects (submitted_at, id) WHERE status = 'pending' AND owner_since IS NULL",
    "ix_projects_with_owner": "projects (category_id) WHERE owner_since IS NOT NULL",
}


def upgrade() -> None:
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    add_project_column("owner_since", "TIMESTAMP WITH TIME ZONE" if on_postgresql else "DATETIME")
    if not on_postgresql:
        op.execute("ALTER TABLE revisions ADD COLUMN rejected JSON")
        for name, what in INDEXES.items():
            op.execute(f"CREATE INDEX {name} ON {what}")
        return
    with op.get_context().autocommit_block():
        adding = "ALTER TABLE revisions ADD COLUMN IF NOT EXISTS rejected JSON"
        in_short_transaction(op.get_bind(), lambda: op.execute(adding))
        build_indexes(op.get_bind(), INDEXES)


def downgrade() -> None:
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute("ALTER TABLE revisions DROP COLUMN rejected")
    drop_project_column("owner_since")
