"""The messages of owners that nobody has answered, noted by a trigger and found by an index.

Those of before the upgrade are noted too; on PostgreSQL in portions, while others read and write.
"""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.portions import Portions
from directory.db.schema_changes import build_indexes, in_portion, in_short_transaction

revision = "0059"
down_revision = "0057"
branch_labels = None
depends_on = None

INDEX = "ix_messages_unanswered"
LAST = "SELECT max(id) FROM messages AS entry WHERE entry.project_id = messages.project_id AND entry.kind <> 'note'"
NOTE = f"UPDATE messages SET is_unanswered = true WHERE sender = 'owner' AND id = ({LAST})"
NEXT = (
    "SELECT DISTINCT project_id FROM messages WHERE project_id > :after AND sender = 'owner' "
    "ORDER BY project_id LIMIT :size"
)
LOCK = "SELECT id FROM projects WHERE id = ANY (:ids) ORDER BY id FOR NO KEY UPDATE"  # as who writes into a thread does


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: begin(bind, "BOOLEAN DEFAULT false"))
            note_each(bind)
            build_indexes(bind, {INDEX: "messages (project_id) WHERE is_unanswered"})
    else:
        begin(bind, "BOOLEAN DEFAULT 0")
        op.execute(NOTE)
        op.execute(f"CREATE INDEX {INDEX} ON messages (project_id) WHERE is_unanswered = 1")


def begin(bind: sa.Connection, kind: str) -> None:
    """Add the column, and the trigger that keeps it."""
    is_there = "IF NOT EXISTS " if bind.dialect.name == "postgresql" else ""
    op.execute(f"ALTER TABLE messages ADD COLUMN {is_there}is_unanswered {kind} NOT NULL")
    sql_files.install(bind, "messages")


def note_each(bind: sa.Connection) -> None:
    portions, after = Portions("noting unanswered messages"), 0
    while ids := list(bind.execute(sa.text(NEXT), {"after": after, "size": portions.size}).scalars()):

        def note(ids: list[int] = ids) -> None:
            for statement in (LOCK, f"{NOTE} AND project_id = ANY (:ids)"):
                bind.execute(sa.text(statement), {"ids": ids})

        in_portion(bind, portions, len(ids), note)
        after = ids[-1]


def downgrade() -> None:
    """Go back: what nobody has answered is noted nowhere."""
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION messages_answered() CASCADE")
    else:
        op.execute("DROP TRIGGER messages_answered")
    op.execute(f"DROP INDEX {INDEX}")
    op.execute("ALTER TABLE messages DROP COLUMN is_unanswered")
