"""How many changes may each have taken a match from any search: a count of matches holds, less those since.

On PostgreSQL rows are only added, so that writers do not wait for each other; one change in a hundred replaces the rows
by their sum.
"""

from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None

LOOKED_AT = "status, category_id, owner_id, title, tagline, description, tags"  # by searches and by their filters
ALL = 10**12  # more than any count of matches: none holds any longer
LIVE = "FOR EACH ROW WHEN (OLD.status = 'live')"
TRIGGERS = {
    "projects_removal_changed": (f"AFTER UPDATE OF {LOOKED_AT} ON projects {LIVE}", 1),
    "projects_removal_deleted": (f"AFTER DELETE ON projects {LIVE}", 1),
    "categories_removal_renamed": ("AFTER UPDATE OF slug ON categories FOR EACH ROW", ALL),
    "users_removal_renamed": ("AFTER UPDATE OF username ON users FOR EACH ROW", ALL),
}
ON_POSTGRESQL = {"projects_removal_truncated": ("AFTER TRUNCATE ON projects FOR EACH STATEMENT", ALL)}
COUNT = """
CREATE OR REPLACE FUNCTION count_search_removals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() >= 0.01 THEN
        INSERT INTO project_search_removals (projects) VALUES (TG_ARGV[0]::bigint);
    ELSE
        WITH summed AS (
            DELETE FROM project_search_removals WHERE ctid = ANY (
                ARRAY(SELECT r.ctid FROM project_search_removals r FOR UPDATE SKIP LOCKED)
            ) RETURNING projects
        )
        INSERT INTO project_search_removals (projects)
            SELECT coalesce(sum(projects), 0) + TG_ARGV[0]::bigint FROM summed;
    END IF;
    RETURN NULL;
END $$
"""
COUNT_ON_SQLITE = "BEGIN UPDATE project_search_removals SET projects = projects + {} WHERE rowid = 1; END"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), begin_to_count)
        return
    op.execute("CREATE TABLE project_search_removals (projects bigint NOT NULL)")
    op.execute("INSERT INTO project_search_removals VALUES (0)")
    for name, (when, number) in TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} {when} {COUNT_ON_SQLITE.format(number)}")


def begin_to_count() -> None:
    """Make the table and its triggers on PostgreSQL, or those that an interrupted run has not made."""
    op.execute("CREATE TABLE IF NOT EXISTS project_search_removals (projects bigint NOT NULL)")
    op.execute("INSERT INTO project_search_removals SELECT 0 WHERE NOT EXISTS (SELECT FROM project_search_removals)")
    op.execute(COUNT)
    for name, (when, number) in (TRIGGERS | ON_POSTGRESQL).items():
        op.execute(f"CREATE OR REPLACE TRIGGER {name} {when} EXECUTE FUNCTION count_search_removals('{number}')")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION count_search_removals() CASCADE")  # with its triggers
    else:
        for name in TRIGGERS:
            op.execute(f"DROP TRIGGER {name}")
    op.execute("DROP TABLE project_search_removals")
