"""The keys of addresses, by the rule that compares escapes, the order of the query and repositories too.

The key of a project, and of the log's entries about its address, is computed again where the rule gives another one,
which is so for few. The keys stay as they are when the migration is undone: for the previous version they equal no
address, so it would take such an address a second time, and changes nothing else.

The log stays append-only: its triggers allow a change of `url_key`, which is derived, and of nothing else.
"""

from alembic import op
from sqlalchemy import Connection

from directory.services.data.rewriting import rewrite_keys
from directory.db.schema_changes import in_short_transaction

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

KEPT = """
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM audit_retention WHERE OLD.at < before) THEN
            RETURN OLD;
        END IF;
    END IF;
"""
KEY_ALONE = """
    IF TG_OP = 'UPDATE' THEN
        IF to_jsonb(NEW) - 'url_key' = to_jsonb(OLD) - 'url_key' THEN
            RETURN NEW;
        END IF;
    END IF;
"""
REFUSE = "RAISE EXCEPTION 'the log is append-only';"
LOGGED = (
    "id", "action", "at", "actor_id", "project_id", "user_id", "from_state", "to_state", "reason", "waited_seconds",
    "project_title", "changes",
)  # fmt: skip
SQLITE_TRIGGER = (
    "CREATE TRIGGER audit_entries_unchanged BEFORE UPDATE {} ON audit_entries "
    "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
)


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name != "postgresql":
        replace_trigger(bind, KEY_ALONE, f"OF {', '.join(LOGGED)}")
    else:
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: replace_trigger(bind, KEY_ALONE, ""))
    rewrite_keys()


def replace_trigger(bind: Connection, postgresql: str, sqlite: str) -> None:
    """Let the triggers of the log allow what the conditions say. It may be done again."""
    if bind.dialect.name == "postgresql":
        bind.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION audit_entries_kept() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {KEPT} {postgresql} {REFUSE} END $$"
        )
    else:
        bind.exec_driver_sql("DROP TRIGGER audit_entries_unchanged")
        bind.exec_driver_sql(SQLITE_TRIGGER.format(sqlite))


def downgrade() -> None:
    replace_trigger(op.get_bind(), "", "")
