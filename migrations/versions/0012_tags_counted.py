"""How many live projects carry each tag, counted by triggers.

On PostgreSQL others write meanwhile: the triggers are made first, and what there was before them is counted as of that
moment and added.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import add_constraint, fill_counters

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# In the order of bytes on both databases: the beginnings of tags are ranges of it, and equal counts are listed in it.
TAG = sa.String(32, collation="C").with_variant(sa.String(32), "sqlite")
ORDER = "ix_tag_counts_live_projects_tag"

CHANGED = "(OLD.status = 'live' OR NEW.status = 'live') AND (OLD.status <> NEW.status OR OLD.tags <> NEW.tags)"
SQLITE_IN = (
    "INSERT INTO tag_counts (tag, live_projects) SELECT value, 1 FROM json_each(NEW.tags) WHERE NEW.status = 'live' "
    "ON CONFLICT (tag) DO UPDATE SET live_projects = live_projects + 1;"
)
SQLITE_OUT = (
    "UPDATE tag_counts SET live_projects = live_projects - 1 "
    "WHERE OLD.status = 'live' AND tag IN (SELECT value FROM json_each(OLD.tags));"
)
SQLITE = {
    "projects_tags_counted_in": f"AFTER INSERT ON projects WHEN NEW.status = 'live' BEGIN {SQLITE_IN} END",
    "projects_tags_counted_out": f"AFTER DELETE ON projects WHEN OLD.status = 'live' BEGIN {SQLITE_OUT} END",
    "projects_tags_counted_over": (
        f"AFTER UPDATE OF status, tags ON projects WHEN {CHANGED} BEGIN {SQLITE_OUT} {SQLITE_IN} END"
    ),
}

# Zero locks the counter of a tag, which is added where it is missing.
COUNT_TAG = """
CREATE OR REPLACE FUNCTION count_tag(counted text, difference bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tag_counts SET live_projects = live_projects + difference WHERE tag = counted;
    IF NOT FOUND THEN
        INSERT INTO tag_counts AS c (tag, live_projects) VALUES (counted, difference)
            ON CONFLICT (tag) DO UPDATE SET live_projects = c.live_projects + difference;
    END IF;
END $$
"""
# Tags are counted one by one in their order, so that two transactions that share tags never wait for each other in a
# ring. Triggers of one event run in the order of their names, so the category (projects_counted_…) comes before the tags.
# A transaction that changes several projects locks all categories and then all tags before (directory.services.catalog.counters).
# Insertions are counted by the statement, as those of the categories are.
COUNT_ALL = """
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counted record;
BEGIN
    FOR counted IN SELECT tag, sum(n) AS difference FROM ({changes}) AS changes (tag, n)
        GROUP BY tag HAVING sum(n) <> 0 ORDER BY tag COLLATE "C"
    LOOP
        PERFORM count_tag(counted.tag, counted.difference::bigint);
    END LOOP;
    RETURN NULL;
END $$
"""
ADDED = "SELECT jsonb_array_elements_text(tags), 1 FROM added WHERE status = 'live'"
OLD = "SELECT jsonb_array_elements_text(OLD.tags), -1 WHERE OLD.status = 'live'"
NEW = "SELECT jsonb_array_elements_text(NEW.tags), 1 WHERE NEW.status = 'live'"
POSTGRESQL = {
    "projects_tags_counted_in": (
        ADDED, "AFTER INSERT ON projects REFERENCING NEW TABLE AS added FOR EACH STATEMENT"
    ),
    "projects_tags_counted_out": (OLD, "AFTER DELETE ON projects FOR EACH ROW WHEN (OLD.status = 'live')"),
    "projects_tags_counted_over": (
        f"{OLD} UNION ALL {NEW}", f"AFTER UPDATE OF status, tags ON projects FOR EACH ROW WHEN ({CHANGED})"
    ),
}  # fmt: skip
NOTED = "AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON tag_counts FOR EACH STATEMENT"
CHECK = "live_projects >= 0"
COUNTED = """
SELECT t.tag, count(*) FROM project_tags t JOIN projects p ON p.id = t.project_id WHERE p.status = 'live' GROUP BY t.tag
"""
ADD = """
INSERT INTO tag_counts AS c (tag, live_projects)
SELECT * FROM unnest(CAST(:keys AS text[]), CAST(:sizes AS bigint[])) AS counted (tag, n)
ON CONFLICT (tag) DO UPDATE SET live_projects = c.live_projects + excluded.live_projects
"""


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            fill_counters(op.get_bind(), count_from_now_on, f'{COUNTED} ORDER BY t.tag COLLATE "C"', ADD)
            add_constraint(op.get_bind(), "tag_counts", "ck_tag_counts_live_projects", f"CHECK ({CHECK})")
        return
    create_table(sa.CheckConstraint(CHECK, name=op.f("ck_tag_counts_live_projects")))
    op.execute(f"INSERT INTO tag_counts (tag, live_projects) {COUNTED}")
    for name, when in SQLITE.items():
        op.execute(f"CREATE TRIGGER {name} {when}")


def create_table(*constraints: sa.Constraint) -> None:
    op.create_table(
        "tag_counts",
        sa.Column("tag", TAG, nullable=False),
        sa.Column("live_projects", BIG_ID, nullable=False),
        *constraints,
        sa.PrimaryKeyConstraint("tag", name=op.f("pk_tag_counts")),
    )
    op.create_index(ORDER, "tag_counts", [sa.text("live_projects DESC"), "tag"])


def count_from_now_on() -> None:
    op.execute("LOCK TABLE projects IN SHARE ROW EXCLUSIVE MODE")
    op.execute("DROP TABLE IF EXISTS tag_counts")
    create_table()
    op.execute(COUNT_TAG)
    for name, (changes, when) in POSTGRESQL.items():
        op.execute(COUNT_ALL.format(name=name, changes=changes))
        op.execute(f"CREATE OR REPLACE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    op.execute(f"CREATE TRIGGER tag_counts_noted {NOTED} EXECUTE FUNCTION note_anything()")
    op.execute("ALTER TABLE tag_counts ENABLE ALWAYS TRIGGER tag_counts_noted")


def downgrade() -> None:
    postgresql = op.get_bind().dialect.name == "postgresql"
    for name in SQLITE:
        op.execute(f"DROP TRIGGER {name}" + (" ON projects" if postgresql else ""))
        if postgresql:
            op.execute(f"DROP FUNCTION {name}()")
    if postgresql:
        op.execute("DROP FUNCTION count_tag(text, bigint)")
    op.drop_table("tag_counts")
