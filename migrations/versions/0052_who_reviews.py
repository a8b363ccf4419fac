"""Who reviews, in a column of its own: `users.role` is member or admin, as processes of the version before know it.

Between releases `role` was also `reviewer`; such accounts become members that review.
"""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import build_indexes, in_short_transaction, rebuild_on_sqlite

revision = "0052"
down_revision = "0051"
branch_labels = None
depends_on = None

CHECK = "ck_users_role"
ROLES = "CHECK (role IN ('member', 'admin'))"
BETWEEN_RELEASES = "CHECK (role IN ('member', 'reviewer', 'admin'))"
INDEX = "ix_users_reviewers"


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: change_postgresql(bind))
            op.execute(f"ALTER TABLE users VALIDATE CONSTRAINT {CHECK}")
            build_indexes(bind, {INDEX: "users (status, id) WHERE is_reviewer"})
    else:
        op.execute("ALTER TABLE users ADD COLUMN is_reviewer BOOLEAN DEFAULT 0 NOT NULL")
        make_members(bind)
        rebuild_on_sqlite(
            bind, "users", without=f"CONSTRAINT {CHECK} {BETWEEN_RELEASES}", having=f"CONSTRAINT {CHECK} {ROLES}"
        )
        op.execute(f"CREATE INDEX {INDEX} ON users (status, id) WHERE is_reviewer = 1")
        sql_files.install(bind, "reviewers")


def change_postgresql(bind: sa.Connection) -> None:
    op.execute("ALTER TABLE users ADD COLUMN IF NOT EXISTS is_reviewer BOOLEAN DEFAULT false NOT NULL")
    make_members(bind)
    op.execute(f"ALTER TABLE users DROP CONSTRAINT IF EXISTS {CHECK}")
    op.execute(f"ALTER TABLE users ADD CONSTRAINT {CHECK} {ROLES} NOT VALID")
    sql_files.install(bind, "reviewers")


def make_members(bind: sa.Connection) -> None:
    """Store the reviewers as members that review; triggers count them."""
    drop_trigger(bind)  # it would take their approvals
    op.execute("UPDATE users SET role = 'member', is_reviewer = true WHERE role = 'reviewer'")
    op.execute("DELETE FROM user_counts WHERE role = 'reviewer'")


def drop_trigger(bind: sa.Connection) -> None:
    if bind.dialect.name == "postgresql":
        op.execute("DROP FUNCTION IF EXISTS users_reviewing_less CASCADE")
    else:
        op.execute("DROP TRIGGER IF EXISTS users_reviewing_less")


def downgrade() -> None:
    """Go back: reviewers are members."""
    bind = op.get_bind()
    drop_trigger(bind)
    if bind.dialect.name == "postgresql":
        op.execute("DROP FUNCTION users_reviewing_no_more CASCADE")
    else:
        op.execute("DROP TRIGGER users_reviewing_no_more")
    op.execute(f"DROP INDEX {INDEX}")
    op.execute("ALTER TABLE users DROP COLUMN is_reviewer")
