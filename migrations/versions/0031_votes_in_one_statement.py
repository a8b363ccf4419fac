"""PostgreSQL counts the votes of a batch by one statement for all of them, rather than by several for each.

The functions keep their names and what they return, so the release before goes on calling them.
"""

from alembic import op

revision = "0031"
down_revision = "0030"
branch_labels = None
depends_on = None

SIGNATURE = """
CREATE OR REPLACE FUNCTION votes(wanted bigint[], voters bigint[], wishes text[], cast_at timestamptz)
RETURNS TABLE (place bigint, project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE SET lock_timeout = 50"""
# All voters are locked, then all projects in the order of their ids, so the statement that counts sees what others have
# committed. It counts the votes for a project in the order in which they came, and one of a voter at most: where a
# voter votes again, the rest of the project's votes wait for the next turn. The plan is made once: planning would cost
# more than counting.
VOTES = f"""
{SIGNATURE} SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    turns bigint;
BEGIN
    PERFORM 1 FROM users u WHERE u.id = ANY (voters) ORDER BY u.id FOR KEY SHARE;
    PERFORM 1 FROM projects p WHERE p.id = ANY (wanted) ORDER BY p.id FOR NO KEY UPDATE;
    SELECT max(each.repeats) INTO turns FROM (
        SELECT count(*) - count(DISTINCT voter) AS repeats FROM unnest(wanted, voters) AS vote (project, voter)
        GROUP BY project
    ) each;
    FOR this_turn IN 0 .. coalesce(turns, 0) LOOP
        RETURN QUERY
        WITH numbered AS (
            SELECT vote.*, row_number() OVER (PARTITION BY project, voter ORDER BY n) > 1 AS repeats
            FROM unnest(wanted, voters, wishes) WITH ORDINALITY AS vote (project, voter, wish, n)
        ), given AS (
            SELECT numbered.*, count(*) FILTER (WHERE repeats) OVER (PARTITION BY project ORDER BY n) AS turn
            FROM numbered
        ), counted AS MATERIALIZED (
            SELECT g.n, g.project, g.voter, p.owner_id, p.upvotes,
                CASE WHEN u.status = 'active' THEN p.status ELSE 'suspended' END AS status,
                v.user_id IS NOT NULL AS was_upvoted,
                CASE
                    WHEN p.status <> 'live' OR u.status IS DISTINCT FROM 'active' THEN 0
                    WHEN v.user_id IS NULL THEN (g.wish <> 'withdraw')::integer
                    ELSE -(g.wish <> 'cast')::integer
                END AS step,
                (NOT EXISTS (
                    SELECT FROM vote_discounts d WHERE d.user_id = g.voter AND d.project_id = g.project
                ))::integer AS weight
            FROM given g
            JOIN projects p ON p.id = g.project
            LEFT JOIN users u ON u.id = g.voter
            LEFT JOIN upvotes v ON v.user_id = g.voter AND v.project_id = g.project
            WHERE g.turn = this_turn
        ), removed AS (
            DELETE FROM upvotes v USING counted c WHERE c.step = -1 AND v.user_id = c.voter AND v.project_id = c.project
        ), added AS (
            INSERT INTO upvotes (user_id, project_id, created_at)
            SELECT c.voter, c.project, cast_at FROM counted c WHERE c.step = 1
        ), sums AS (
            SELECT c.project, c.upvotes + sum(c.step * c.weight) AS upvotes
            FROM counted c GROUP BY c.project, c.upvotes HAVING sum(c.step * c.weight) <> 0
        ), changed AS (
            UPDATE projects p SET upvotes = s.upvotes,
                hot = log((s.upvotes + 1)::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8
            FROM sums s WHERE p.id = s.project
        )
        SELECT c.n, c.status::text, c.owner_id, c.was_upvoted <> (c.step <> 0),
            c.upvotes + sum(c.step * c.weight) OVER (PARTITION BY c.project ORDER BY c.n)
        FROM counted c;
    END LOOP;
END $$
"""

# That of 0005.
VOTES_BEFORE = f"""
{SIGNATURE} AS $$
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
        op.execute(VOTES_BEFORE)
