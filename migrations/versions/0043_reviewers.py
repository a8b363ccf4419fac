"""The categories that each reviewer may review (a list of ids, null for all), and in the entry of a deletion the category
of its project. 0052 says who is a reviewer.
"""

from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import in_short_transaction

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            for adding in ("users ADD COLUMN IF NOT EXISTS review_categories JSONB", "audit_entries ADD COLUMN IF NOT EXISTS category_id BIGINT"):
                in_short_transaction(bind, lambda adding=adding: op.execute(f"ALTER TABLE {adding}"))
    else:
        op.execute("ALTER TABLE users ADD COLUMN review_categories JSON")
        op.execute("ALTER TABLE audit_entries ADD COLUMN category_id INTEGER")
        sql_files.install(bind, "log")  # the new column does not change either


def downgrade() -> None:
    """Go back: reviewers are members."""
    op.execute("ALTER TABLE audit_entries DROP COLUMN category_id")
    op.execute("ALTER TABLE users DROP COLUMN review_categories")
