"""Links that are mailed, addresses that are verified, and whether decisions are mailed.

The new columns are null or have a constant default, so that no row is written: the lock of `users` is held for a few
milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), add_columns)
            in_short_transaction(op.get_bind(), add_table)
        return
    op.execute("ALTER TABLE users ADD COLUMN email_verified_at DATETIME")
    op.execute("ALTER TABLE users ADD COLUMN notify BOOLEAN DEFAULT 1 NOT NULL")
    make_table(sa.Integer())


def add_columns() -> None:
    """Add the columns on PostgreSQL, unless an interrupted run has added them."""
    op.execute("ALTER TABLE users ADD COLUMN IF NOT EXISTS email_verified_at timestamptz")
    op.execute("ALTER TABLE users ADD COLUMN IF NOT EXISTS notify boolean DEFAULT true NOT NULL")


def add_table() -> None:
    """Make the table on PostgreSQL, unless an interrupted run has made it."""
    if not sa.inspect(op.get_bind()).has_table("mail_links"):
        make_table(sa.BigInteger())


def make_table(big: sa.types.TypeEngine[int]) -> None:
    """The table with its indexes."""
    op.create_table(
        "mail_links",
        sa.Column("id", big, nullable=False),
        sa.Column("user_id", big),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("purpose IN ('reset', 'verify')", name=op.f("ck_mail_links_purpose")),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_mail_links_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_links")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_mail_links_token_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_mail_links_user_id"), "mail_links", ["user_id"])
    op.create_index(op.f("ix_mail_links_expires_at"), "mail_links", ["expires_at"])


def downgrade() -> None:
    op.drop_table("mail_links")
    op.execute("ALTER TABLE users DROP COLUMN notify")
    op.execute("ALTER TABLE users DROP COLUMN email_verified_at")
