"""The search index with the places of words, the spelling of titles, and the addresses of projects.

A query can then ask for words that are neighbours, and for the project of an address. A change of an address counts as
a removal, because searches find it now. On PostgreSQL one function looks up the many spellings of "did you mean": a call
for each took ten times as long. The indexes stay as they are when the migration is undone: the previous version
reads them too, and its `flask recount` replaces their words.
"""

from alembic import op

from directory.db.schema_changes import in_short_transaction
from directory.services.catalog import search_index
from directory.services.data.rewriting import rewrite_words

revision = "0036"
down_revision = "0035"
branch_labels = None
depends_on = None

TABLES = {"project_search": "title, brief, description", "project_search_brief": "title, brief"}
CREATE = "CREATE VIRTUAL TABLE {} USING fts5({}, tokenize=\"ascii tokenchars '+#.='\")"
LOOKED_AT = "status, category_id, owner_id, title, tagline, description, tags"
REMOVAL = "projects_removal_changed AFTER UPDATE OF {} ON projects FOR EACH ROW WHEN (OLD.status = 'live')"
COUNT = {
    "postgresql": "EXECUTE FUNCTION count_search_removals('1')",
    "sqlite": "BEGIN UPDATE project_search_removals SET projects = projects + 1 WHERE rowid = 1; END",
}
# As in 0014 the planner is left the index of words alone.
KNOWN = """
CREATE OR REPLACE FUNCTION search_known_words(words text[], most bigint) RETURNS SETOF text LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    RETURN QUERY SELECT word FROM unnest(words) AS given(word) WHERE EXISTS (
        SELECT FROM (
            SELECT e.live FROM project_search e
            WHERE ts_filter(e.document, '{a}') @@ CAST(quote_literal(word) AS tsquery) LIMIT most
        ) AS titled WHERE titled.live
    );
END $$
"""


def upgrade() -> None:
    count_removals(f"{LOOKED_AT}, url, repository_url")
    if op.get_bind().dialect.name == "sqlite":
        for name, columns in TABLES.items():
            op.execute(f"DROP TABLE {name}")
            op.execute(CREATE.format(name, columns))
    else:
        op.execute(KNOWN)
    rewrite_words(search_index.columns, search_index.vector)


def downgrade() -> None:
    count_removals(LOOKED_AT)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION search_known_words(text[], bigint)")


def count_removals(changes: str) -> None:
    """Count a live project as a removal when one of the columns is written."""
    create = f"{REMOVAL.format(changes)} {COUNT[op.get_bind().dialect.name]}"
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), lambda: op.execute(f"CREATE OR REPLACE TRIGGER {create}"))
        return
    op.execute("DROP TRIGGER projects_removal_changed")
    op.execute(f"CREATE TRIGGER {create}")
