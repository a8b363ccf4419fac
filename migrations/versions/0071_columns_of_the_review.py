"""Without the columns and the table that 0066 made superfluous. It is for when no process of the version before runs."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import in_short_transaction

revision = "0071"
down_revision = "0070"
branch_labels = None
depends_on = None

COLUMNS = {
    "rejection_reason": "VARCHAR(1000)", "owner_since": "INSTANT", "closes_at": "INSTANT",
    "change_requests": "INTEGER NOT NULL DEFAULT 0", "held_until": "INSTANT", "measured_from": "INSTANT",
    "reminded_at": "INSTANT", "decided_at": "INSTANT", "decided_by": "BIGINT", "appealed_at": "INSTANT",
}  # fmt: skip
INDEXES = {
    "ix_projects_queue": (
        "projects (submitted_at, id) WHERE status = 'pending' AND owner_since IS NULL AND held_until IS NULL"
    ),
    "ix_projects_with_owner": "projects (category_id) WHERE owner_since IS NOT NULL",
    "ix_projects_closes_at": "projects (closes_at) WHERE closes_at IS NOT NULL",
    "ix_projects_held_until": "projects (held_until) WHERE held_until IS NOT NULL",
    "ix_projects_appealed_at": "projects (appealed_at) WHERE appealed_at IS NOT NULL",
}
KINDS = {"postgresql": {"INSTANT": "TIMESTAMP WITH TIME ZONE"}, "sqlite": {"INSTANT": "DATETIME", "BIGINT": "INTEGER"}}


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            for name in INDEXES:
                op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            in_short_transaction(bind, drop_on_postgresql)
        return
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    for name in COLUMNS:
        op.execute(f"ALTER TABLE projects DROP COLUMN {name}")
    op.drop_table("revisions")


def drop_on_postgresql() -> None:
    op.execute("DROP TRIGGER IF EXISTS projects_noted ON projects")  # it names the columns
    op.execute(f"ALTER TABLE projects {', '.join(f'DROP COLUMN IF EXISTS {name}' for name in COLUMNS)}")
    sql_files.install(op.get_bind(), "notes")
    op.execute("DROP TABLE IF EXISTS revisions")


def downgrade() -> None:
    """Go back: the columns are there again, and empty."""
    bind = op.get_bind()
    for name, kind in COLUMNS.items():
        op.execute(f"ALTER TABLE projects ADD COLUMN {name} {in_words_of(bind, kind)}")
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")
    if bind.dialect.name == "postgresql":
        sql_files.install(bind, "notes")  # of the columns that the table has
    text = Path(__file__).with_name("0071_revisions.sql").read_text(encoding="utf-8")
    for statement in in_words_of(bind, text).rstrip().removesuffix(";").split(";\n"):
        op.execute(statement)


def in_words_of(bind: sa.Connection, statement: str) -> str:
    """The statement with the names of types of the database."""
    for word, kind in KINDS[bind.dialect.name].items():
        statement = re.sub(rf"\b{word}\b", kind, statement)
    return statement
