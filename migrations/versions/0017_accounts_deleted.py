"""When an account was deleted.

The column is nullable and has no default, so that no row is written: the table's lock is held for a few milliseconds.
"""

from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), add_column)
        return
    op.execute("ALTER TABLE users ADD COLUMN deleted_at DATETIME")


def add_column() -> None:
    """Add the column on PostgreSQL, unless an interrupted run has added it."""
    op.execute("ALTER TABLE users ADD COLUMN IF NOT EXISTS deleted_at timestamptz")


def downgrade() -> None:
    op.execute("ALTER TABLE users DROP COLUMN deleted_at")
