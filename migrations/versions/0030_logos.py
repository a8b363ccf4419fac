"""Logos: two pictures each, which projects and their revisions point to.

The table is new. On PostgreSQL the columns are added without a look at the rows, which have no logo, and the keys in
short transactions of their own.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction, note_projects

revision = "0030"
down_revision = "0029"
branch_labels = None
depends_on = None

POINTING = ("projects", "revisions")


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        make_table()
        for name in POINTING:
            op.execute(f"ALTER TABLE {name} ADD COLUMN logo VARCHAR(64) {key(name)} REFERENCES logos (digest)")
            op.execute(f"CREATE INDEX ix_{name}_logo ON {name} (logo) WHERE logo IS NOT NULL")
        return
    with op.get_context().autocommit_block():
        in_short_transaction(op.get_bind(), add_table)
        for name in POINTING:
            in_short_transaction(op.get_bind(), lambda name=name: add_column(name))  # type: ignore[misc]
            op.execute(f"ALTER TABLE {name} VALIDATE {key(name)}")
            op.execute(f"CREATE INDEX CONCURRENTLY IF NOT EXISTS ix_{name}_logo ON {name} (logo) WHERE logo IS NOT NULL")


def key(name: str) -> str:
    """The foreign key of a table."""
    return f"CONSTRAINT fk_{name}_logo_logos"


def add_table() -> None:
    """Make the table on PostgreSQL, unless an interrupted run has made it."""
    if not sa.inspect(op.get_bind()).has_table("logos"):
        make_table()


def add_column(name: str) -> None:
    """Add the column with its key on PostgreSQL. It may be done again."""
    op.execute(f"ALTER TABLE {name} ADD COLUMN IF NOT EXISTS logo VARCHAR(64)")
    op.execute(f"ALTER TABLE {name} DROP {key(name).replace(' ', ' IF EXISTS ')}")
    op.execute(f"ALTER TABLE {name} ADD {key(name)} FOREIGN KEY (logo) REFERENCES logos (digest) NOT VALID")
    if name == "projects":
        note_projects(op.get_bind(), also={"logo"})


def make_table() -> None:
    """The table of logos with its indexes."""
    op.create_table(
        "logos",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("small_digest", sa.String(64), nullable=False),
        sa.Column("large", sa.LargeBinary(), nullable=False),
        sa.Column("small", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_logos")),
        sa.UniqueConstraint("small_digest", name=op.f("uq_logos_small_digest")),
    )
    op.create_index(op.f("ix_logos_stored_at"), "logos", ["stored_at"])


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        note_projects(op.get_bind(), without={"logo"})
    for name in reversed(POINTING):
        op.drop_index(op.f(f"ix_{name}_logo"), table_name=name)
        op.execute(f"ALTER TABLE {name} DROP COLUMN logo")
    op.drop_table("logos")
