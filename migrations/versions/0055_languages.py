"""The language that a user has chosen, in which mail is written."""

from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0055"
down_revision = "0054"
branch_labels = None
depends_on = None


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: add_column("ADD COLUMN IF NOT EXISTS"))
        return
    add_column("ADD COLUMN")


def add_column(adding: str) -> None:
    op.execute(f"ALTER TABLE users {adding} language VARCHAR(35)")


def downgrade() -> None:
    """Go back: mail is in the language of the site, and the languages that users have chosen are lost."""
    op.execute("ALTER TABLE users DROP COLUMN language")
