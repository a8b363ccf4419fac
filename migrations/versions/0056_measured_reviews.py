"""From when the time of a review is measured, so that it leaves out the time with the owner.

What an owner has given back before the upgrade is measured as before, from its submission.
"""

from alembic import op

from directory.db.schema_changes import add_project_column, drop_project_column, in_short_transaction

revision = "0056"
down_revision = "0055"
branch_labels = None
depends_on = None

INSTANT = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}


def upgrade() -> None:
    bind = op.get_bind()
    instant = INSTANT[bind.dialect.name]
    add_project_column("measured_from", instant)
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            adding = f"ALTER TABLE revisions ADD COLUMN IF NOT EXISTS measured_from {instant}"
            in_short_transaction(bind, lambda: op.execute(adding))
        return
    op.execute(f"ALTER TABLE revisions ADD COLUMN measured_from {instant}")


def downgrade() -> None:
    """Go back: the time of a review includes the time with the owner."""
    op.execute("ALTER TABLE revisions DROP COLUMN measured_from")
    drop_project_column("measured_from")
