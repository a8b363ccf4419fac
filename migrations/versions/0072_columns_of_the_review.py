"""Without what 0066 and 0071 made superfluous. It is for when no process of the version before runs."""

import re
from pathlib import Path

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import in_short_transaction

revision = "0072"
down_revision = "0071"
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
    "ix_users_last_seen_at_id": "users (last_seen_at, id)",
}
SEEN = "last_seen_at INSTANT DEFAULT '1970-01-01 00:00:00.000000' NOT NULL"
KINDS = {"postgresql": {"INSTANT": "TIMESTAMP WITH TIME ZONE"}, "sqlite": {"INSTANT": "DATETIME", "BIGINT": "INTEGER"}}


def upgrade() -> None:
    bind = op.get_bind()
    if "last_seen_at" in columns_of(bind, "users"):
        # A database from between the releases may be at 0071 without its table: this migration had that number.
        op.get_context().environment_context.script.get_revision("0071").module.upgrade()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            for name in INDEXES:
                op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
            in_short_transaction(bind, drop_on_postgresql)
            in_short_transaction(bind, lambda: op.execute("ALTER TABLE users DROP COLUMN IF EXISTS last_seen_at"))
        return
    for name in INDEXES:
        op.execute(f"DROP INDEX IF EXISTS {name}")
    for name in COLUMNS.keys() & columns_of(bind, "projects"):
        op.execute(f"ALTER TABLE projects DROP COLUMN {name}")
    op.execute("ALTER TABLE users DROP COLUMN last_seen_at")
    op.execute("DROP TABLE IF EXISTS revisions")


def columns_of(bind: sa.Connection, table: str) -> set[str]:
    return {column["name"] for column in sa.inspect(bind).get_columns(table)}


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
    op.execute(f"ALTER TABLE users ADD COLUMN {in_words_of(bind, SEEN)}")
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")
    if bind.dialect.name == "postgresql":
        sql_files.install(bind, "notes")  # of the columns that the table has
    text = Path(__file__).with_name("0072_revisions.sql").read_text(encoding="utf-8")
    for statement in in_words_of(bind, text).rstrip().removesuffix(";").split(";\n"):
        op.execute(statement)


def in_words_of(bind: sa.Connection, statement: str) -> str:
    """The statement with the names of types of the database."""
    for word, kind in KINDS[bind.dialect.name].items():
        statement = re.sub(rf"\b{word}\b", kind, statement)
    return statement
