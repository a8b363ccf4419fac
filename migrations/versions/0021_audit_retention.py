"""Old audit entries may be deleted, and no others: the log stays append-only for what is within its retention.

The trigger allows the deletion of an entry that is older than a row of `audit_retention`, which exists only within the
transaction that deletes. On PostgreSQL a table is added and a function replaced, for which
nothing waits.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

REFUSE = "RAISE EXCEPTION 'the log is append-only';"
ALLOW_OLD = """
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM audit_retention WHERE OLD.at < before) THEN
            RETURN OLD;
        END IF;
    END IF;
"""
SQLITE_TRIGGER = (
    "CREATE TRIGGER audit_entries_kept BEFORE DELETE ON audit_entries {} "
    "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
)
UNLESS_OLD = "WHEN NOT EXISTS (SELECT 1 FROM audit_retention WHERE OLD.at < before)"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), change)
    else:
        change()


def change() -> None:
    """Make the table and let the trigger ask it. It may be done again."""
    op.create_table(
        "audit_retention",
        sa.Column("before", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("before", name=op.f("pk_audit_retention")),
        if_not_exists=True,
    )
    replace_trigger(ALLOW_OLD, UNLESS_OLD)


def replace_trigger(postgresql: str, sqlite: str) -> None:
    """Let the trigger of the log allow what the conditions of the two databases say."""
    if op.get_bind().dialect.name == "postgresql":
        body = f"BEGIN {postgresql} {REFUSE} END"
        op.execute(
            f"CREATE OR REPLACE FUNCTION audit_entries_kept() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$"
        )
    else:
        op.execute("DROP TRIGGER audit_entries_kept")
        op.execute(SQLITE_TRIGGER.format(sqlite))


def downgrade() -> None:
    replace_trigger("", "")
    op.drop_table("audit_retention")
