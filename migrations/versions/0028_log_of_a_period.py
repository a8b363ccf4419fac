"""An index for the log of a period. On PostgreSQL others read and write while it is built."""

from alembic import op

from directory.db.schema_changes import build_indexes

revision = "0028"
down_revision = "0027"
branch_labels = None
depends_on = None

INDEX = "ix_audit_entries_at_id"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            build_indexes(op.get_bind(), {INDEX: "audit_entries (at, id)"})
    else:
        op.create_index(INDEX, "audit_entries", ["at", "id"])


def downgrade() -> None:
    op.drop_index(INDEX, "audit_entries")
