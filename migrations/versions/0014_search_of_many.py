"""What a search for a word of very many projects needs: whether they are many, and which few match better.

A sample of the index tells the first without a look at all that match; indexes of title, tagline and tags alone tell the
second without a look at those whose description matches.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.portions import Portions
from directory.db.schema_changes import build_indexes, in_portion, in_short_transaction

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

# Of each 65,536 ids 4,096 in a row, so that the entries stand on few pages.
SAMPLE = "live AND (project_id & 65535) < 4096"
FUNCTIONS = {
    "project_search_live": """
CREATE OR REPLACE FUNCTION project_search_live() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.live := (SELECT p.status = 'live' FROM projects p WHERE p.id = NEW.project_id);
    RETURN NEW;
END $$
""",
    "project_search_follows_status": """
CREATE OR REPLACE FUNCTION project_search_follows_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE project_search SET live = (NEW.status = 'live') WHERE project_id = NEW.id;
    RETURN NULL;
END $$
""",
}
TRIGGERS = {
    "project_search_live": "BEFORE INSERT OR UPDATE OF document ON project_search FOR EACH ROW",
    "project_search_follows_status": "AFTER UPDATE OF status ON projects FOR EACH ROW WHEN (OLD.status <> NEW.status)",
}
# The planner may read the table instead, or a tree of it: right where it knows how many entries have the word, and for
# the beginning of a word it does not. So it is left the index of words alone. The sample tells soon where very many
# match; for the index of all, whose matches are all read before the first is given, they are too many.
MATCHES = f"""
CREATE OR REPLACE FUNCTION search_matches(query tsquery, only_live boolean, most bigint) RETURNS bigint LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    found bigint;
BEGIN
    SELECT count(*) INTO found FROM (
        SELECT 1 FROM project_search WHERE {SAMPLE} AND document @@ query LIMIT most
    ) AS those;
    IF found < most AND only_live THEN
        SELECT count(*) INTO found FROM (
            SELECT 1 FROM project_search WHERE live AND document @@ query LIMIT most
        ) AS those;
    ELSIF found < most THEN
        SELECT count(*) INTO found FROM (SELECT 1 FROM project_search WHERE document @@ query LIMIT most) AS those;
    END IF;
    RETURN found;
END $$
"""
# The projects that match in the title (a) or in title, tagline and tags (ab), some of them.
LEADING = """
CREATE OR REPLACE FUNCTION search_leading(scope text, query tsquery, most bigint) RETURNS SETOF bigint LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    IF scope = 'title' THEN
        RETURN QUERY SELECT e.project_id FROM project_search e WHERE ts_filter(e.document, '{a}') @@ query LIMIT most;
    ELSE
        RETURN QUERY SELECT e.project_id FROM project_search e WHERE ts_filter(e.document, '{a,b}') @@ query LIMIT most;
    END IF;
END $$
"""
INDEXES = {
    "ix_project_search_sample": f"project_search USING gin (document) WHERE {SAMPLE}",
    "ix_project_search_title": "project_search USING gin (ts_filter(document, '{a}'))",
    "ix_project_search_brief": "project_search USING gin (ts_filter(document, '{a,b}'))",
}
# The projects are locked before their entries, as by every edit and decision, so that none changes its state meanwhile.
NOT_LIVE = sa.text(
    "SELECT id FROM projects WHERE id > :after AND status <> 'live' ORDER BY id LIMIT :most FOR NO KEY UPDATE"
)
HIDE = sa.text("UPDATE project_search SET live = false WHERE project_id = ANY(:ids) AND live")
BRIEF = (
    "CREATE VIRTUAL TABLE project_search_brief USING fts5(title, brief, "
    "tokenize=\"ascii tokenchars '+#.='\", detail='column')"
)


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        op.execute(BRIEF)
        op.execute(
            "INSERT INTO project_search_brief (rowid, title, brief) SELECT rowid, title, brief FROM project_search"
        )
        return
    with op.get_context().autocommit_block():
        bind = op.get_bind()
        in_short_transaction(bind, follow_status)
        after = 0
        portions = Portions("projects that are not live")
        while found := in_portion(
            bind, portions, portions.size, lambda after=after: hide_after(bind, after, portions.size)
        ):
            after = found[-1]
        build_indexes(bind, INDEXES)


def follow_status() -> None:
    """Have entries of the index say from now on whether their project is live, and add the functions that ask."""
    op.execute("LOCK TABLE projects IN SHARE ROW EXCLUSIVE MODE")
    op.execute("LOCK TABLE project_search IN ACCESS EXCLUSIVE MODE")
    op.execute("ALTER TABLE project_search ADD COLUMN IF NOT EXISTS live boolean NOT NULL DEFAULT true")
    for name, when in TRIGGERS.items():
        op.execute(FUNCTIONS[name])
        op.execute(f"CREATE OR REPLACE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    op.execute(MATCHES)
    op.execute(LEADING)


def hide_after(bind: sa.Connection, after: int, most: int) -> list[int]:
    """Say of some of the projects behind an id that they are not live; their ids."""
    ids = list(bind.scalars(NOT_LIVE, {"after": after, "most": most}))
    bind.execute(HIDE, {"ids": ids})
    return ids


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        op.execute("DROP TABLE project_search_brief")
        return
    op.execute("DROP FUNCTION search_leading(text, tsquery, bigint)")
    op.execute("DROP FUNCTION search_matches(tsquery, boolean, bigint)")
    op.execute("DROP TRIGGER project_search_follows_status ON projects")
    for name in FUNCTIONS:
        op.execute(f"DROP FUNCTION {name}() CASCADE")
    for name in INDEXES:
        op.execute(f"DROP INDEX IF EXISTS {name}")
    op.execute("ALTER TABLE project_search DROP COLUMN live")
