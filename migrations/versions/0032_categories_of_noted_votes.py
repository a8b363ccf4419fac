"""PostgreSQL notes the category of a project whose votes changed, so that the pages of other categories stay valid.

The release before reads the columns of `changes` by name. A row that it wrote, or that was noted before, has no
category: then any page may be affected.
"""

from collections.abc import Callable

from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0032"
down_revision = "0031"
branch_labels = None
depends_on = None

# That of 0010, with a column more.
NOTE_VOTES = """
CREATE OR REPLACE FUNCTION note_votes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() >= 0.001 THEN
        INSERT INTO changes (project_id, low, high{column})
            VALUES (NEW.project_id, least(OLD.upvotes, NEW.upvotes), greatest(OLD.upvotes, NEW.upvotes){value});
    ELSE
        DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM changes c FOR UPDATE SKIP LOCKED));
        INSERT INTO changes DEFAULT VALUES;
    END IF;
    RETURN NULL;
END $$
"""


def upgrade() -> None:
    def work() -> None:
        op.execute("ALTER TABLE changes ADD COLUMN IF NOT EXISTS category_id bigint")
        op.execute(NOTE_VOTES.format(column=", category_id", value=", NEW.category_id"))

    _change(work)


def downgrade() -> None:
    def work() -> None:
        op.execute(NOTE_VOTES.format(column="", value=""))
        op.execute("ALTER TABLE changes DROP COLUMN IF EXISTS category_id")

    _change(work)


def _change(work: Callable[[], None]) -> None:
    """The lock on `changes` delays all votes, so it is waited for only shortly."""
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), work)
