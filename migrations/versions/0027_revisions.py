"""Changes of live projects that wait for review, beside the projects. A project that is no longer live has none.

The table is new. On PostgreSQL the trigger and the foreign keys lock the projects and the categories for milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0027"
down_revision = "0026"
branch_labels = None
depends_on = None

WAITING = sa.text("submitted_at IS NOT NULL")
# It also runs for the previous version of the service, which knows no revisions, and for a takedown of many projects.
TRIGGER = "projects_revision_dropped"
WHEN = "AFTER UPDATE OF status ON projects FOR EACH ROW WHEN (OLD.status = 'live' AND NEW.status <> 'live')"
DROP = "DELETE FROM revisions WHERE project_id = NEW.id;"
FUNCTION = f"""
CREATE OR REPLACE FUNCTION {TRIGGER}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    {DROP}
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), add_table)
            in_short_transaction(op.get_bind(), add_trigger)
        return
    make_table(sa.Integer())
    op.execute(f"CREATE TRIGGER {TRIGGER} {WHEN} BEGIN {DROP} END")


def add_table() -> None:
    """Make the table on PostgreSQL, unless an interrupted run has made it."""
    if not sa.inspect(op.get_bind()).has_table("revisions"):
        make_table(sa.BigInteger())


def add_trigger() -> None:
    """Make the trigger on PostgreSQL. It may be done again."""
    op.execute(FUNCTION)
    op.execute(f"CREATE OR REPLACE TRIGGER {TRIGGER} {WHEN} EXECUTE FUNCTION {TRIGGER}()")


def make_table(big: sa.types.TypeEngine[int]) -> None:
    """The table of revisions with its indexes."""
    op.create_table(
        "revisions",
        sa.Column("project_id", big, nullable=False, autoincrement=False),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("category", sa.String(50)),
        sa.Column("submitted_at", sa.DateTime(timezone=True)),
        sa.Column("reason", sa.String(1000)),
        sa.CheckConstraint("submitted_at IS NULL OR reason IS NULL", name=op.f("ck_revisions_reason")),
        sa.CheckConstraint("submitted_at IS NOT NULL OR category IS NULL", name=op.f("ck_revisions_category")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_revisions_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["category"],
            ["categories.slug"],
            name=op.f("fk_revisions_category_categories"),
            onupdate="CASCADE",
            ondelete="RESTRICT",
        ),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_revisions")),
    )
    op.create_index(
        op.f("ix_revisions_submitted_at_project_id"),
        "revisions",
        ["submitted_at", "project_id"],
        postgresql_where=WAITING,
        sqlite_where=WAITING,
    )
    op.create_index(op.f("ix_revisions_category"), "revisions", ["category"])


def downgrade() -> None:
    op.execute(f"DROP TRIGGER {TRIGGER}" + (" ON projects" if op.get_bind().dialect.name == "postgresql" else ""))
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"DROP FUNCTION {TRIGGER}()")
    op.drop_table("revisions")
