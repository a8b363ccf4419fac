"""Who makes a project. No project has an author yet, so the search entries stay as they are."""

from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import add_project_column, drop_project_column, in_short_transaction

revision = "0040"
down_revision = "0039"
branch_labels = None
depends_on = None


def upgrade() -> None:
    add_project_column("author", "VARCHAR(100)")
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        sql_files.install(bind, "search_removals")
        return
    with op.get_context().autocommit_block():
        in_short_transaction(bind, lambda: sql_files.install(bind, "search_removals"))


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP TRIGGER projects_removal_changed ON projects")  # it names the column
    drop_project_column("author")
    sql_files.install(op.get_bind(), "search_removals")
