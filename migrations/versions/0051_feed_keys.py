"""The hash of the key by which a feed reader reads the feed as a member."""

from alembic import op

from directory.db.schema_changes import build_indexes, in_short_transaction

revision = "0051"
down_revision = "0050"
branch_labels = None
depends_on = None

INDEXES = {"ix_users_feed_key_hash": "users (feed_key_hash)"}


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: add_column("ADD COLUMN IF NOT EXISTS"))
            build_indexes(bind, INDEXES)
        return
    add_column("ADD COLUMN")
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")


def add_column(adding: str) -> None:
    op.execute(f"ALTER TABLE users {adding} feed_key_hash VARCHAR(64)")


def downgrade() -> None:
    """Go back: feed readers have to be given the public feed."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute("ALTER TABLE users DROP COLUMN feed_key_hash")
