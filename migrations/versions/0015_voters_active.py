"""A vote holds the voter's account active: none is counted after a suspension.

The lock is the one that the foreign key of a new vote takes, and a suspension alone waits for it. It comes before the
project's, as a takedown locks the user before the projects.
"""

from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

ACTIVE = """
    PERFORM 1 FROM users u WHERE u.id = voter AND u.status = 'active' FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'suspended'::text, 0::bigint, false, 0::bigint;
        RETURN;
    END IF;
"""
# Those of 0003 and 0010, but for what stands before.
VOTE = """
CREATE OR REPLACE FUNCTION {name}(wanted bigint, voter bigint, wish text, cast_at timestamptz)
RETURNS TABLE (project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE {settings} AS $$
DECLARE
    project record;
    removed integer := 0;
    added integer := 0;
BEGIN
    {before}
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
SETTINGS = {"vote": "", "vote_soon": "SET lock_timeout = 200"}


def upgrade() -> None:
    replace(ACTIVE)


def downgrade() -> None:
    replace("")


def replace(before: str) -> None:
    """Make the functions that count one vote anew; those that count several call the first."""
    if op.get_bind().dialect.name == "postgresql":
        for name, settings in SETTINGS.items():
            op.execute(VOTE.format(name=name, settings=settings, before=before))
