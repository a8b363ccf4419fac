"""Of what is said in the log about a project that is gone, its title and the texts of its edits may be erased."""

from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import in_short_transaction

revision = "0064"
down_revision = "0063"
branch_labels = None
depends_on = None


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: sql_files.install(bind, "log"))
        return
    sql_files.install(bind, "log")


def downgrade() -> None:
    """Go back: the earlier release erases nothing, and works with the triggers as they are."""
