"""PostgreSQL's votes of several callers in one transaction (directory.db.group_commit)."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

# In the order of the projects, as the lock rule has it, and of one project in the order in which they came. A lock that
# is not to be had soon ends it all: each is then tried by itself, so that one project that is held up holds up no other.
VOTES = """
CREATE FUNCTION votes(wanted bigint[], voters bigint[], wishes text[], cast_at timestamptz)
RETURNS TABLE (place bigint, project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE SET lock_timeout = 50 AS $$
DECLARE
    ballot record;
BEGIN
    FOR ballot IN
        SELECT * FROM unnest(wanted, voters, wishes) WITH ORDINALITY AS given (project, voter, wish, n)
        ORDER BY project, n
    LOOP
        RETURN QUERY SELECT ballot.n, v.* FROM vote(ballot.project, ballot.voter, ballot.wish, cast_at) v;
    END LOOP;
END $$
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(VOTES)


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION votes(bigint[], bigint[], text[], timestamptz)")
