"""When the owner of what waits for an answer was reminded of it."""

from alembic import op

from directory.db.schema_changes import add_project_column, drop_project_column, in_short_transaction

revision = "0057"
down_revision = "0056"
branch_labels = None
depends_on = None

INSTANT = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}


def upgrade() -> None:
    bind = op.get_bind()
    instant = INSTANT[bind.dialect.name]
    add_project_column("reminded_at", instant)
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            adding = f"ALTER TABLE revisions ADD COLUMN IF NOT EXISTS reminded_at {instant}"
            in_short_transaction(bind, lambda: op.execute(adding))
        return
    op.execute(f"ALTER TABLE revisions ADD COLUMN reminded_at {instant}")


def downgrade() -> None:
    """Go back: nobody is reminded."""
    op.execute("ALTER TABLE revisions DROP COLUMN reminded_at")
    drop_project_column("reminded_at")
