"""PostgreSQL's vote: the lock, the vote and the counter in one round trip, each statement seeing what the lock let pass."""

from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# A volatile function's statements each take a snapshot of their own, unlike the parts of one statement: what is read
# after the lock is what the lock's last holder left. The rank is that of directory.services.catalog.orders.
VOTE = """
CREATE FUNCTION vote(wanted bigint, voter bigint, wish text, cast_at timestamptz)
RETURNS TABLE (project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    project record;
    removed integer := 0;
    added integer := 0;
BEGIN
    SELECT p.status, p.owner_id, p.upvotes, p.listed_at INTO project
        FROM projects p WHERE p.id = wanted FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF project.status = 'live' THEN
        IF wish <> 'cast' THEN
            DELETE FROM upvotes v WHERE v.user_id = voter AND v.project_id = wanted;
            GET DIAGNOSTICS removed = ROW_COUNT;
        END IF;
        IF wish = 'cast' OR wish = 'toggle' AND removed = 0 THEN
            INSERT INTO upvotes (user_id, project_id, created_at) VALUES (voter, wanted, cast_at)
                ON CONFLICT ON CONSTRAINT pk_upvotes DO NOTHING;
            GET DIAGNOSTICS added = ROW_COUNT;
        END IF;
        project.upvotes := project.upvotes + added - removed;
        IF added <> removed THEN
            UPDATE projects p SET upvotes = project.upvotes,
                hot = log((project.upvotes + 1)::float8) + extract(epoch FROM project.listed_at)::float8 / 604800::float8
                WHERE p.id = wanted;
        END IF;
    END IF;
    RETURN QUERY SELECT project.status::text, project.owner_id,
        wish = 'cast' OR wish = 'toggle' AND removed = 0, project.upvotes;
END $$
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(VOTE)


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION vote(bigint, bigint, text, timestamptz)")
