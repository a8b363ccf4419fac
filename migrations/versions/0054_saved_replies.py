"""Saved replies, with those that the console had before."""

import sqlalchemy as sa
from alembic import op

from directory.db import first_rows
from directory.db.schema_changes import in_short_transaction

revision = "0054"
down_revision = "0053"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
DECISIONS = "decision IN ('reject', 'request_changes', 'unpublish')"


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_table)
    else:
        make_table()


def make_table() -> None:
    op.execute("DROP TABLE IF EXISTS saved_replies")  # of a run that was interrupted
    op.create_table(
        "saved_replies",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("decision", sa.String(16), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.CheckConstraint(DECISIONS, name=op.f("ck_saved_replies_decision")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_replies")),
        sa.UniqueConstraint("name", name=op.f("uq_saved_replies_name")),
        sqlite_autoincrement=True,
    )
    first_rows.insert_replies(op.get_bind())


def downgrade() -> None:
    """Go back: the saved replies are lost, but for those that the console of that version has itself."""
    op.drop_table("saved_replies")
