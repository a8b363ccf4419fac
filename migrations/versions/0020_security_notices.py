"""Notices about a changed address or password, whose recipients are held where those of links are.

PostgreSQL changes the check of a small table under a short lock. SQLite makes the table anew, which has no triggers.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None

NAME = "ck_mail_links_purpose"
BEFORE = "purpose IN ('reset', 'verify')"
AFTER = "purpose IN ('reset', 'verify', 'email_changed', 'password_changed')"
COLUMNS = "id, user_id, purpose, email, nonce, token_hash, created_at, expires_at"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), lambda: replace_check(AFTER))
        return
    replace_table(AFTER)


def replace_check(condition: str) -> None:
    """Replace the check on PostgreSQL. It may be done again."""
    op.execute(f"ALTER TABLE mail_links DROP CONSTRAINT IF EXISTS {NAME}")
    op.execute(f"ALTER TABLE mail_links ADD CONSTRAINT {NAME} CHECK ({condition})")


def replace_table(condition: str) -> None:
    """Make the table anew on SQLite, with another check and the rows that it had."""
    op.create_table(
        "mail_links_new",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("user_id", sa.Integer()),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(condition, name=op.f(NAME)),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f("fk_mail_links_user_id_users"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_links")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_mail_links_token_hash")),
        sqlite_autoincrement=True,
    )
    op.execute(f"INSERT INTO mail_links_new ({COLUMNS}) SELECT {COLUMNS} FROM mail_links")
    op.drop_table("mail_links")
    op.rename_table("mail_links_new", "mail_links")
    op.create_index(op.f("ix_mail_links_user_id"), "mail_links", ["user_id"])
    op.create_index(op.f("ix_mail_links_expires_at"), "mail_links", ["expires_at"])


def downgrade() -> None:
    op.execute("DELETE FROM mail_links WHERE purpose NOT IN ('reset', 'verify')")
    if op.get_bind().dialect.name == "postgresql":
        replace_check(BEFORE)
    else:
        replace_table(BEFORE)
