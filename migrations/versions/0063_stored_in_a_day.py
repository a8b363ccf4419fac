"""How much each account has stored in a day, and which account has stored a logo or a picture."""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import build_indexes, in_short_transaction

revision = "0063"
down_revision = "0062"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INDEXES = {"ix_logos_stored_by_stored_at": "logos (stored_by, stored_at)"}


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_table)
            adding = "ALTER TABLE logos ADD COLUMN IF NOT EXISTS stored_by BIGINT"
            in_short_transaction(bind, lambda: op.execute(adding))
            build_indexes(bind, INDEXES)
        return
    make_table()
    op.execute("ALTER TABLE logos ADD COLUMN stored_by INTEGER")
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")


def make_table() -> None:
    op.execute("DROP TABLE IF EXISTS daily_bytes")  # of a run that was interrupted
    op.create_table(
        "daily_bytes",
        sa.Column("account_id", ID, autoincrement=False, nullable=False),
        sa.Column("day", sa.Integer(), nullable=False),
        sa.Column("bytes", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["users.id"], name=op.f("fk_daily_bytes_account_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("account_id", name=op.f("pk_daily_bytes")),
    )


def downgrade() -> None:
    """Go back: what was stored today counts for nobody."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute("ALTER TABLE logos DROP COLUMN stored_by")
    op.drop_table("daily_bytes")
