"""The picks of the reviewers: since when a project is one, and the words that say why."""

from alembic import op

from directory.db.schema_changes import add_project_column, build_indexes, drop_project_column

revision = "0068"
down_revision = "0066"
branch_labels = None
depends_on = None

INSTANT = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}
INDEX = "ix_projects_picked_at_id"
PICKED = "projects (picked_at, id) WHERE picked_at IS NOT NULL"


def upgrade() -> None:
    bind = op.get_bind()
    add_project_column("picked_at", INSTANT[bind.dialect.name])
    add_project_column("picked_words", "VARCHAR(200)")
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            build_indexes(bind, {INDEX: PICKED})
    else:
        op.execute(f"CREATE INDEX {INDEX} ON {PICKED}")


def downgrade() -> None:
    """Go back: nothing is picked."""
    op.drop_index(INDEX, "projects")
    drop_project_column("picked_words")
    drop_project_column("picked_at")
