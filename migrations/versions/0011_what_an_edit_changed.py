"""The audit log says which project an entry is about and what an edit changed; an index for each way to narrow it.

PostgreSQL builds the indexes while others read and write, and waits for no lock that they would wait behind. The
columns are nullable and have no default, so that no row is written: the log's lock is held for a few milliseconds.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_audit_entries_action_id": ("audit_entries", ("action", "id")),
    "ix_projects_url_key": ("projects", ("url_key",)),
}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        # First, because what is built here stays when a later step fails: it is replaced when the migration runs again.
        with op.get_context().autocommit_block():
            op.execute("SET lock_timeout = 0")  # these wait for old transactions, and nothing waits for them
            for name, (table, columns) in INDEXES.items():
                op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
                op.execute(f"CREATE INDEX CONCURRENTLY {name} ON {table} ({', '.join(columns)})")
            op.execute("RESET lock_timeout")
        # Rows are covered since 0002.
        op.execute(
            "CREATE TRIGGER audit_entries_whole BEFORE TRUNCATE ON audit_entries EXECUTE FUNCTION audit_entries_kept()"
        )
    else:
        for name, (table, columns) in INDEXES.items():
            op.create_index(name, table, list(columns))
    op.add_column("audit_entries", sa.Column("project_title", sa.String(length=100), nullable=True))
    op.add_column("audit_entries", sa.Column("changes", sa.JSON(), nullable=True))


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER audit_entries_whole ON audit_entries")
    for column in ("changes", "project_title"):
        op.execute(f"ALTER TABLE audit_entries DROP COLUMN {column}")
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
