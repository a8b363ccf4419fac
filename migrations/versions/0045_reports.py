"""Reports of visitors about projects, and the triggers that settle those about a project that is no longer live."""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import in_short_transaction

revision = "0045"
down_revision = "0044"
branch_labels = None
depends_on = None

OPEN, SETTLED = sa.text("settled_at IS NULL"), sa.text("settled_at IS NOT NULL")
OF_NOBODY = sa.text("reporter_id IS NULL")
# By name: the columns, and which rows an index has.
INDEXES = {
    "ix_reports_of_nobody": (["settled_at"], OF_NOBODY),
    "ix_reports_open": (["id"], OPEN),
    "ix_reports_project_id_settled_at_id": (["project_id", "settled_at", "id"], None),
    "ix_reports_reporter_id_id": (["reporter_id", "id"], None),
    "ix_reports_settled_at_id": (["settled_at", "id"], SETTLED),
    "uq_reports_of_address": (["project_id", "address_key"], OPEN),
    "uq_reports_of_member": (["project_id", "reporter_id"], OPEN),
}


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_table)
    else:
        make_table()


def make_table() -> None:
    op.execute("DROP TABLE IF EXISTS reports")  # of a run that was interrupted
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "reports",
        sa.Column("id", number, nullable=False),
        sa.Column("project_id", number, nullable=False),
        sa.Column("project_title", sa.String(100)),
        sa.Column("reporter_id", number),
        sa.Column("address_key", sa.String(64)),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("text", sa.String(1000), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("outcome", sa.String(16)),
        sa.Column("reply", sa.String(1000)),
        sa.Column("settled_at", sa.DateTime(timezone=True)),
        sa.CheckConstraint(
            "kind IN ('broken_link', 'spam', 'harmful', 'wrong_facts', 'mine', 'other')", name=op.f("ck_reports_kind")
        ),
        sa.CheckConstraint("outcome IN ('acted', 'unfounded')", name=op.f("ck_reports_outcome")),
        sa.CheckConstraint("(settled_at IS NULL) = (outcome IS NULL)", name=op.f("ck_reports_settled")),
        sa.CheckConstraint(
            "address_key IS NULL OR (reporter_id IS NULL AND settled_at IS NULL)", name=op.f("ck_reports_address_key")
        ),
        sa.ForeignKeyConstraint(
            ["reporter_id"], ["users.id"], name=op.f("fk_reports_reporter_id_users"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reports")),
        sqlite_autoincrement=True,
    )
    for name, (columns, where) in INDEXES.items():
        is_unique = name.startswith("uq_")
        op.create_index(name, "reports", columns, unique=is_unique, postgresql_where=where, sqlite_where=where)
    sql_files.install(op.get_bind(), "reports")


def downgrade() -> None:
    """Go back: the reports are lost."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION settle_reports() CASCADE")
    else:
        for trigger in ("projects_reports_settled", "projects_reports_left"):
            op.execute(f"DROP TRIGGER {trigger}")
    op.drop_table("reports")
