"""The last instant that housekeeping has taken for right; the upgrade takes the present one for it."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0060"
down_revision = "0059"
branch_labels = None
depends_on = None


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_table)
    else:
        make_table()


def make_table() -> None:
    op.execute("DROP TABLE IF EXISTS known_time")
    table = op.create_table(
        "known_time",
        sa.Column("name", sa.String(20), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_known_time")),
    )
    op.bulk_insert(table, [{"name": "housekeeping", "at": datetime.now(UTC)}])


def downgrade() -> None:
    """Go back: the clock is not checked before anything closes."""
    op.drop_table("known_time")
