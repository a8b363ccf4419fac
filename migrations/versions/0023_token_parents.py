"""Tokens that were made by a token end with it.

Those that exist have no parent. On PostgreSQL the column is added under a short lock and the index is built while others
read and write. SQLite builds the table again, which has no triggers.
"""

from typing import Any

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

INDEX, FOREIGN_KEY = "ix_tokens_parent_id", "fk_tokens_parent_id_tokens"
COLUMNS = "id, user_id, name, token_hash, created_at, expires_at, last_used_at"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), add_column)
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {INDEX}")  # what an interrupted run left is not valid
            op.create_index(INDEX, "tokens", ["parent_id"], postgresql_concurrently=True)
        return
    parent = sa.ForeignKeyConstraint(["parent_id"], ["tokens.id"], name=FOREIGN_KEY, ondelete="CASCADE")
    replace_table(sa.Column("parent_id", sa.Integer()), parent)
    op.create_index(INDEX, "tokens", ["parent_id"])


def add_column() -> None:
    """Add the column on PostgreSQL, unless an interrupted run has added it."""
    references = f"CONSTRAINT {FOREIGN_KEY} REFERENCES tokens (id) ON DELETE CASCADE"
    op.execute(f"ALTER TABLE tokens ADD COLUMN IF NOT EXISTS parent_id bigint {references}")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_column("tokens", "parent_id")
        return
    replace_table()


def replace_table(*more: Any) -> None:
    """Build the table again on SQLite with more columns and constraints, and the rows that it had."""
    op.create_table(
        "tokens_new",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer(), nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True)),
        sa.Column("last_used_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_tokens_user_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_tokens_token_hash")),
        *more,
        sqlite_autoincrement=True,
    )
    op.execute(f"INSERT INTO tokens_new ({COLUMNS}) SELECT {COLUMNS} FROM tokens")
    op.drop_table("tokens")
    op.rename_table("tokens_new", "tokens")
    op.create_index(op.f("ix_tokens_user_id"), "tokens", ["user_id"])
