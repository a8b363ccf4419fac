"""The role of reviewers, the categories that each may review (a list of ids, null for all), and in the entry of a
deletion the category of its project.
"""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import in_short_transaction, rebuild_on_sqlite

revision = "0043"
down_revision = "0042"
branch_labels = None
depends_on = None

NAME = "ck_users_role"
BEFORE, AFTER = (f"CHECK (role IN ({words}))" for words in ("'member', 'admin'", "'member', 'reviewer', 'admin'"))


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: change_postgresql(AFTER, "ADD COLUMN IF NOT EXISTS", "JSONB"))
            adding = "ALTER TABLE audit_entries ADD COLUMN IF NOT EXISTS category_id BIGINT"
            in_short_transaction(bind, lambda: op.execute(adding))
            op.execute(f"ALTER TABLE users VALIDATE CONSTRAINT {NAME}")
    else:
        op.execute("ALTER TABLE users ADD COLUMN review_categories JSON")
        change_sqlite(bind, BEFORE, AFTER)
        op.execute("ALTER TABLE audit_entries ADD COLUMN category_id INTEGER")
        sql_files.install(bind, "log")  # the new column does not change either


def change_postgresql(rule: str, change: str, kind: str = "") -> None:
    op.execute(f"ALTER TABLE users {change} review_categories {kind}")
    op.execute(f"ALTER TABLE users DROP CONSTRAINT IF EXISTS {NAME}")
    op.execute(f"ALTER TABLE users ADD CONSTRAINT {NAME} {rule} NOT VALID")


def change_sqlite(bind: sa.Connection, before: str, after: str) -> None:
    rebuild_on_sqlite(bind, "users", without=f"CONSTRAINT {NAME} {before}", having=f"CONSTRAINT {NAME} {after}")


def downgrade() -> None:
    """Go back: reviewers are members."""
    bind = op.get_bind()
    op.execute("ALTER TABLE audit_entries DROP COLUMN category_id")
    op.execute("UPDATE users SET role = 'member' WHERE role = 'reviewer'")  # triggers count them
    op.execute("DELETE FROM user_counts WHERE role = 'reviewer'")
    if bind.dialect.name == "postgresql":
        change_postgresql(BEFORE, "DROP COLUMN")
        op.execute(f"ALTER TABLE users VALIDATE CONSTRAINT {NAME}")
    else:
        op.execute("ALTER TABLE users DROP COLUMN review_categories")
        change_sqlite(bind, AFTER, BEFORE)
