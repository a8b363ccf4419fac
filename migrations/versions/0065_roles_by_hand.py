"""The role given by hand, and its categories, while that of a provider is in its place."""

from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0065"
down_revision = "0064"
branch_labels = None
depends_on = None

IDS = {"postgresql": "JSONB", "sqlite": "JSON"}


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: add_columns("ADD COLUMN IF NOT EXISTS"))
    else:
        add_columns("ADD COLUMN")


def add_columns(adding: str) -> None:
    op.execute(f"ALTER TABLE users {adding} local_role VARCHAR(16)")
    op.execute(f"ALTER TABLE users {adding} local_categories {IDS[op.get_bind().dialect.name]}")


def downgrade() -> None:
    """Go back: who loses the role of a provider is a member."""
    for name in ("local_role", "local_categories"):
        op.execute(f"ALTER TABLE users DROP COLUMN {name}")
