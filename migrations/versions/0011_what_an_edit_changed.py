"""The audit log says which project an entry is about and what an edit changed; an index for each way to narrow it.

PostgreSQL builds the indexes while others read and write, and waits for no lock that they would wait behind. The
columns are nullable and have no default, so that no row is written: the log's lock is held for a few milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import build_indexes, in_short_transaction

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

INDEXES = {
    "ix_audit_entries_action_id": ("audit_entries", ("action", "id")),
    "ix_projects_url_key": ("projects", ("url_key",)),
}
COLUMNS = {"project_title": sa.String(length=100), "changes": sa.JSON()}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            listed = {name: f"{table} ({', '.join(columns)})" for name, (table, columns) in INDEXES.items()}
            build_indexes(op.get_bind(), listed)
            in_short_transaction(op.get_bind(), change_log)
        return
    for name, (table, columns) in INDEXES.items():
        op.create_index(name, table, list(columns))
    for name, kind in COLUMNS.items():
        op.add_column("audit_entries", sa.Column(name, kind, nullable=True))


def change_log() -> None:
    """Add the columns, and refuse to empty the log; changes of its rows are refused since 0002."""
    op.execute("LOCK TABLE audit_entries IN ACCESS EXCLUSIVE MODE")
    for name, kind in COLUMNS.items():
        op.add_column("audit_entries", sa.Column(name, kind, nullable=True), if_not_exists=True)
    op.execute(
        "CREATE OR REPLACE TRIGGER audit_entries_whole BEFORE TRUNCATE ON audit_entries "
        "EXECUTE FUNCTION audit_entries_kept()"
    )


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER audit_entries_whole ON audit_entries")
    for column in ("changes", "project_title"):
        op.execute(f"ALTER TABLE audit_entries DROP COLUMN {column}")
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
