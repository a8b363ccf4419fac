"""What was seen of the links of projects, and when they are looked at next."""

from typing import Any

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import add_project_column, drop_project_column, in_short_transaction

revision = "0070"
down_revision = "0069"
branch_labels = None
depends_on = None

INSTANT = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}
TIME, NUMBER = sa.DateTime(timezone=True), sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    bind = op.get_bind()
    columns = {"links": "JSON", "repository": "JSON", "dead_since": INSTANT[bind.dialect.name]}
    for name, kind in columns.items():
        add_project_column(name, kind)
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_tables)
    else:
        make_tables()


def lease() -> tuple[sa.Column[Any], ...]:
    return sa.Column("leased_until", TIME), sa.Column("lease_token", sa.String(32))


def make_tables() -> None:
    for name in ("link_checks", "link_hosts", "link_counts"):  # an interrupted run may have made them
        op.execute(f"DROP TABLE IF EXISTS {name}")
    op.create_table(
        "link_checks",
        sa.Column("project_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        *lease(),
        sa.Column("looks", sa.JSON()),
        sa.Column("is_dead", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.Column("has_moved", sa.Boolean(), server_default=sa.false(), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_link_checks")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_link_checks_project_id_projects"), ondelete="CASCADE"
        ),
    )
    op.create_index("ix_link_checks_due_at", "link_checks", ["due_at"])
    for name in ("is_dead", "has_moved"):
        only = {"postgresql_where": sa.text(name), "sqlite_where": sa.text(f"{name} = 1")}
        op.create_index(f"ix_link_checks_{name}", "link_checks", ["project_id"], **only)
    op.create_table(
        "link_hosts",
        sa.Column("host", sa.String(300), nullable=False),
        sa.Column("next_at", TIME, nullable=False),
        *lease(),
        sa.PrimaryKeyConstraint("host", name=op.f("pk_link_hosts")),
    )
    op.create_index("ix_link_hosts_next_at", "link_hosts", ["next_at"])
    states = "'ok', 'moved', 'gone', 'unreachable', 'unknown'"
    op.create_table(
        "link_counts",
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("number", NUMBER, nullable=False),
        sa.PrimaryKeyConstraint("state", name=op.f("pk_link_counts")),
        sa.CheckConstraint(f"state IN ({states})", name=op.f("ck_link_counts_state")),
    )


def downgrade() -> None:
    """Go back: what was seen is forgotten."""
    for name in ("link_counts", "link_hosts", "link_checks"):
        op.drop_table(name)
    for name in ("dead_since", "repository", "links"):
        drop_project_column(name)
