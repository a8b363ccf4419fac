"""Passkeys, challenges that they sign, and which sessions and tokens a passkey opened.

The tables are new, the columns have a constant default, and the check of notices is replaced under a short lock, so
nothing waits. SQLite makes the small table of mailed links anew.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0029"
down_revision = "0028"
branch_labels = None
depends_on = None

NAME = "ck_mail_links_purpose"
BEFORE = "purpose IN ('reset', 'verify', 'email_changed', 'password_changed')"
AFTER = "purpose IN ('reset', 'verify', 'email_changed', 'password_changed', 'passkey_added', 'passkey_removed')"
COLUMNS = "id, user_id, purpose, email, nonce, token_hash, created_at, expires_at"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            for step in (add_passkeys, add_challenges, add_columns, lambda: replace_check(AFTER)):
                in_short_transaction(op.get_bind(), step)
        return
    make_passkeys(sa.Integer())
    make_challenges(sa.Integer())
    for table in ("sessions", "tokens"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN by_passkey BOOLEAN DEFAULT 0 NOT NULL")
    replace_table(AFTER)


def add_passkeys() -> None:
    """Make the table on PostgreSQL, unless an interrupted run has made it."""
    if not sa.inspect(op.get_bind()).has_table("passkeys"):
        make_passkeys(sa.BigInteger())


def add_challenges() -> None:
    """Make the table on PostgreSQL, unless an interrupted run has made it."""
    if not sa.inspect(op.get_bind()).has_table("passkey_challenges"):
        make_challenges(sa.BigInteger())


def add_columns() -> None:
    """Add the columns on PostgreSQL, unless an interrupted run has added them."""
    for table in ("sessions", "tokens"):
        op.execute(f"ALTER TABLE {table} ADD COLUMN IF NOT EXISTS by_passkey boolean DEFAULT false NOT NULL")


def make_passkeys(big: sa.types.TypeEngine[int]) -> None:
    """The table of passkeys with its indexes."""
    op.create_table(
        "passkeys",
        sa.Column("id", big, nullable=False),
        sa.Column("user_id", big, nullable=False),
        sa.Column("credential_id", sa.String(1400), nullable=False),
        sa.Column("public_key", sa.String(2000), nullable=False),
        sa.Column("sign_count", big, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True)),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_passkeys_user_id_users"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkeys")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_passkeys_credential_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_passkeys_user_id"), "passkeys", ["user_id"])


def make_challenges(big: sa.types.TypeEngine[int]) -> None:
    """The table of challenges with its indexes."""
    op.create_table(
        "passkey_challenges",
        sa.Column("id", big, nullable=False),
        sa.Column("challenge_hash", sa.String(64), nullable=False),
        sa.Column("session_id", big),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_passkey_challenges_session_id_sessions"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkey_challenges")),
        sa.UniqueConstraint("challenge_hash", name=op.f("uq_passkey_challenges_challenge_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_passkey_challenges_session_id"), "passkey_challenges", ["session_id"])
    op.create_index(op.f("ix_passkey_challenges_expires_at"), "passkey_challenges", ["expires_at"])


def replace_check(condition: str) -> None:
    """Replace the check on PostgreSQL. It may be done again."""
    op.execute(f"ALTER TABLE mail_links DROP CONSTRAINT IF EXISTS {NAME}")
    op.execute(f"ALTER TABLE mail_links ADD CONSTRAINT {NAME} CHECK ({condition})")


def replace_table(condition: str) -> None:
    """Make the table anew on SQLite, with another check and the rows that it had. It has no triggers."""
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
    op.execute("DELETE FROM mail_links WHERE purpose IN ('passkey_added', 'passkey_removed')")
    if op.get_bind().dialect.name == "postgresql":
        replace_check(BEFORE)
    else:
        replace_table(BEFORE)
    for table in ("sessions", "tokens"):
        op.execute(f"ALTER TABLE {table} DROP COLUMN by_passkey")
    op.drop_table("passkey_challenges")
    op.drop_table("passkeys")
