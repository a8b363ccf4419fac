"""Identities of providers, and sign-ins by them that are under way. Both tables are new, so nothing waits for a lock."""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), add_identities)
            in_short_transaction(op.get_bind(), add_attempts)
        return
    make_identities(sa.Integer())
    make_attempts(sa.Integer())


def add_identities() -> None:
    """Make the table on PostgreSQL, unless an interrupted run has made it."""
    if not sa.inspect(op.get_bind()).has_table("identities"):
        make_identities(sa.BigInteger())


def add_attempts() -> None:
    """Make the table on PostgreSQL, unless an interrupted run has made it."""
    if not sa.inspect(op.get_bind()).has_table("sign_in_attempts"):
        make_attempts(sa.BigInteger())


def make_identities(big: sa.types.TypeEngine[int]) -> None:
    """The table of identities with its indexes."""
    op.create_table(
        "identities",
        sa.Column("id", big, nullable=False),
        sa.Column("user_id", big, nullable=False),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254)),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=False),
        _user("identities"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identities_issuer_subject")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_identities_user_id"), "identities", ["user_id"])


def make_attempts(big: sa.types.TypeEngine[int]) -> None:
    """The table of sign-ins under way with its indexes."""
    op.create_table(
        "sign_in_attempts",
        sa.Column("id", big, nullable=False),
        sa.Column("state_hash", sa.String(64), nullable=False),
        sa.Column("browser_hash", sa.String(64), nullable=False),
        sa.Column("provider", sa.String(16), nullable=False),
        sa.Column("next_path", sa.String(1000), nullable=False),
        sa.Column("user_id", big),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        _user("sign_in_attempts"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_attempts")),
        sa.UniqueConstraint("state_hash", name=op.f("uq_sign_in_attempts_state_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_sign_in_attempts_user_id"), "sign_in_attempts", ["user_id"])
    op.create_index(op.f("ix_sign_in_attempts_expires_at"), "sign_in_attempts", ["expires_at"])


def _user(table: str) -> sa.ForeignKeyConstraint:
    """The reference to a user, whose row would take these along."""
    name = op.f(f"fk_{table}_user_id_users")
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=name, ondelete="CASCADE")


def downgrade() -> None:
    op.drop_table("sign_in_attempts")
    op.drop_table("identities")
