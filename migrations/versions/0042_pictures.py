"""Pictures of projects, in a list of the project, and a table of those that are used.

Their bytes are in `logos`. Triggers fill the table from the lists, which are empty when they begin.
"""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import add_project_column, drop_project_column, in_short_transaction

revision = "0042"
down_revision = "0041"
branch_labels = None
depends_on = None

FUNCTIONS = ("projects_pictured", "revisions_pictured")
TRIGGERS = ("projects_pictured_in", "projects_pictured_over", "revisions_pictured_in", "revisions_pictured_over",
    "revisions_pictured_out")  # fmt: skip


def upgrade() -> None:
    bind = op.get_bind()
    add_project_column("pictures", "JSON")
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_table)
    else:
        make_table()


def make_table() -> None:
    op.execute("DROP TABLE IF EXISTS picture_uses")
    op.create_table(
        "picture_uses",
        sa.Column("project_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("is_held", sa.Boolean(), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_picture_uses_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(["digest"], ["logos.digest"], name=op.f("fk_picture_uses_digest_logos")),
        sa.PrimaryKeyConstraint("project_id", "is_held", "digest", name=op.f("pk_picture_uses")),
    )
    op.create_index(op.f("ix_picture_uses_digest"), "picture_uses", ["digest"])
    sql_files.install(op.get_bind(), "pictures")


def downgrade() -> None:
    """Go back: the lists of pictures are lost."""
    if op.get_bind().dialect.name == "postgresql":
        for function in FUNCTIONS:
            op.execute(f"DROP FUNCTION {function} CASCADE")
    else:
        for trigger in TRIGGERS:
            op.execute(f"DROP TRIGGER {trigger}")
    op.drop_table("picture_uses")
    drop_project_column("pictures")
