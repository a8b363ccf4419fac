"""Two projects of one owner and one website are two projects if they have different repositories.

"No other project has this address, unless both have a repository and these differ" is not transitive, so no unique
index expresses it: a project without a repository equals each of two that differ. Triggers take the place of the
unique constraint, and refuse by its name, which the previous version knows. On PostgreSQL they hold a lock for the
owner and the address until the transaction ends: of two transactions that add such projects at once, the second waits,
and then sees the project of the first. SQLite has one writer.

The keys of addresses are computed again, for the fragments that select content and for the front pages of repositories.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import build_indexes, in_short_transaction, rebuild_on_sqlite
from directory.services.data.rewriting import rewrite_all_keys

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

UNIQUE = "uq_projects_owner_id_url_key"
RULE = f"CONSTRAINT {UNIQUE} UNIQUE (owner_id, url_key)"
INDEXES = {
    "ix_projects_owner_id_url_key": "projects (owner_id, url_key)",
    "ix_projects_repository_key": "projects (repository_key) WHERE repository_key IS NOT NULL",
}
# A repository that is added to a project without one makes no new duplicate.
CHANGED = (
    "OLD.owner_id <> NEW.owner_id OR OLD.url_key <> NEW.url_key "
    "OR (OLD.repository_key <> NEW.repository_key) OR (OLD.repository_key IS NOT NULL AND NEW.repository_key IS NULL)"
)
DUPLICATE = (
    "o.owner_id = {new}.owner_id AND o.url_key = {new}.url_key AND o.id <> {new}.id "
    "AND (o.repository_key = {new}.repository_key) IS NOT FALSE"
)
OF = "owner_id, url_key, repository_key"

SQLITE = (
    "CREATE TRIGGER {name} AFTER {event} ON projects "
    f"WHEN ({{when}}) AND EXISTS (SELECT 1 FROM projects o WHERE {DUPLICATE.format(new='NEW')}) "
    "BEGIN SELECT RAISE(ABORT, 'UNIQUE constraint failed: projects.owner_id, projects.url_key'); END"
)

# Rows that one statement adds are locked in one order. Of very many, as `flask seed` and `flask copy` add them, the
# table is locked, because PostgreSQL has room for some thousands of locks. Triggers of one event run in the order of
# their names, so these come after those that lock counters.
REFUSE = f"RAISE EXCEPTION USING ERRCODE = 'unique_violation', CONSTRAINT = '{UNIQUE}', MESSAGE = 'duplicate project';"
ADDED = f"""
CREATE OR REPLACE FUNCTION projects_unequal_in() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF (SELECT count(*) > 1000 FROM added) THEN
        LOCK TABLE projects IN SHARE ROW EXCLUSIVE MODE;
    ELSE
        PERFORM pg_advisory_xact_lock(key) FROM (
            SELECT DISTINCT hashtextextended(owner_id || ' ' || url_key, 0) AS key FROM added ORDER BY key
        ) AS keys;
    END IF;
    IF EXISTS (SELECT FROM added JOIN projects o ON {DUPLICATE.format(new="added")}) THEN
        {REFUSE}
    END IF;
    RETURN NULL;
END $$
"""
OVER = f"""
CREATE OR REPLACE FUNCTION projects_unequal_over() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.owner_id || ' ' || NEW.url_key, 0));
    IF EXISTS (SELECT FROM projects o WHERE {DUPLICATE.format(new="NEW")}) THEN
        {REFUSE}
    END IF;
    RETURN NULL;
END $$
"""
POSTGRESQL = {
    "projects_unequal_in": "AFTER INSERT ON projects REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "projects_unequal_over": f"AFTER UPDATE OF {OF} ON projects FOR EACH ROW WHEN ({CHANGED})",
}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            bind = op.get_bind()
            in_short_transaction(
                bind, lambda: op.execute("ALTER TABLE projects ADD COLUMN IF NOT EXISTS repository_key VARCHAR(64)")
            )
            build_indexes(bind, INDEXES)
            in_short_transaction(bind, put_triggers)
    else:
        op.execute("ALTER TABLE projects ADD COLUMN repository_key VARCHAR(64)")
        op.execute(f"DROP INDEX IF EXISTS {UNIQUE}")  # as a downgrade leaves it
        rebuild_on_sqlite(op.get_bind(), "projects", without=RULE)
        for name, what in INDEXES.items():
            op.execute(f"CREATE INDEX {name} ON {what}")
        op.execute(SQLITE.format(name="projects_unequal_in", event="INSERT", when="TRUE"))
        op.execute(SQLITE.format(name="projects_unequal_over", event=f"UPDATE OF {OF}", when=CHANGED))
    rewrite_all_keys()


def put_triggers() -> None:
    """Have the triggers refuse duplicates on PostgreSQL, and then drop the constraint."""
    for function in (ADDED, OVER):
        op.execute(function)
    for name, when in POSTGRESQL.items():
        op.execute(f"CREATE OR REPLACE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    op.execute(f"ALTER TABLE projects DROP CONSTRAINT IF EXISTS {UNIQUE}")


def downgrade() -> None:
    postgresql = op.get_bind().dialect.name == "postgresql"
    for name in POSTGRESQL:
        op.execute(f"DROP TRIGGER {name}" + (" ON projects" if postgresql else ""))
        if postgresql:
            op.execute(f"DROP FUNCTION {name}()")
    # The previous version takes such projects for duplicates: `flask recount` gives the later ones the keys that it
    # gives to those.
    apart = sa.text(
        "UPDATE projects SET url_key = 'apart ' || id WHERE EXISTS (SELECT 1 FROM projects o "
        "WHERE o.owner_id = projects.owner_id AND o.url_key = projects.url_key AND o.id < projects.id)"
    )
    op.execute(apart)
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute("ALTER TABLE projects DROP COLUMN repository_key")
    if postgresql:
        op.execute(f"ALTER TABLE projects ADD {RULE}")
    else:
        op.execute(f"CREATE UNIQUE INDEX {UNIQUE} ON projects (owner_id, url_key)")
