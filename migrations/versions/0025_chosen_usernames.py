"""Whether a member may still choose the username: that of an account opened by a provider was made of what it told.

The column has a constant default, so that no row is written: the lock of `users` is held for a few milliseconds.
"""

from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0025"
down_revision = "0024"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), add_column)
        return
    op.execute("ALTER TABLE users ADD COLUMN may_rename BOOLEAN DEFAULT 0 NOT NULL")


def add_column() -> None:
    """Add the column on PostgreSQL, unless an interrupted run has added it."""
    op.execute("ALTER TABLE users ADD COLUMN IF NOT EXISTS may_rename boolean DEFAULT false NOT NULL")


def downgrade() -> None:
    op.execute("ALTER TABLE users DROP COLUMN may_rename")
