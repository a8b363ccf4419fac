"""Projects of one website with different repositories; what waits for its owner; the places of words.

It takes the place of 0034 to 0036, which no release had. Two projects of one owner and one website are two projects if
they have different repositories: triggers take the place of the unique constraint (directory/db/sql). What is taken
down waits for its owner, and rejected changes of a live project keep what was written; projects that were taken down
before stay in the queue.

Then the keys of addresses and the search entries are written by the rules of today: for a database of release 0.1.0
too, whose entries 0037 leaves as they are, so that they are written once. All files of functions are installed, so that
a database that was between two releases has their text.
"""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.rewriting import rewrite_keys, rewrite_words
from directory.db.schema_changes import (
    add_project_column,
    build_indexes,
    drop_project_column,
    in_short_transaction,
    rebuild_on_sqlite,
)
from directory.services.catalog import search_index
from directory.services.text.equal_addresses import repository_key, url_keys

revision = "0038"
down_revision = "0037"
branch_labels = None
depends_on = None

UNIQUE = "uq_projects_owner_id_url_key"
RULE = f"CONSTRAINT {UNIQUE} UNIQUE (owner_id, url_key)"
INDEXES = {
    "ix_projects_owner_id_url_key": "projects (owner_id, url_key)",
    "ix_projects_repository_key": "projects (repository_key) WHERE repository_key IS NOT NULL",
    "ix_projects_queue": "projects (submitted_at, id) WHERE status = 'pending' AND owner_since IS NULL",
    "ix_projects_with_owner": "projects (category_id) WHERE owner_since IS NOT NULL",
}
WORDS = {"project_search": "title, brief, description", "project_search_brief": "title, brief"}


def upgrade() -> None:
    bind = op.get_bind()
    on_postgresql = bind.dialect.name == "postgresql"
    add_project_column("repository_key", "VARCHAR(64)")
    add_project_column("owner_since", "TIMESTAMP WITH TIME ZONE" if on_postgresql else "DATETIME")
    if on_postgresql:
        with op.get_context().autocommit_block():
            upgrade_postgresql(bind)
    else:
        upgrade_sqlite(bind)
    rewrite_keys(lambda project: (*url_keys(project), repository_key(project.repository_url)))
    rewrite_words(search_index.columns, search_index.vector)


def upgrade_sqlite(bind: sa.Connection) -> None:
    """Make `projects` again without the constraint, and the tables of words, which the end of `upgrade` fills."""
    op.execute("ALTER TABLE revisions ADD COLUMN rejected JSON")
    op.execute(f"DROP INDEX IF EXISTS {UNIQUE}")  # as a downgrade leaves it
    rebuild_on_sqlite(bind, "projects", without=RULE)
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")
    for name, columns in WORDS.items():
        op.execute(f"DROP TABLE IF EXISTS {name}")
        op.execute(f"CREATE VIRTUAL TABLE {name} USING fts5({columns}, tokenize=\"ascii tokenchars '+#.='\")")
    sql_files.install(bind, *sql_files.names("sqlite", revision))


def upgrade_postgresql(bind: sa.Connection) -> None:
    """Change the tables, and replace the functions and triggers, while others read and write."""
    adding = "ALTER TABLE revisions ADD COLUMN IF NOT EXISTS rejected JSON"
    in_short_transaction(bind, lambda: op.execute(adding))
    build_indexes(bind, INDEXES)
    in_short_transaction(bind, lambda: refuse_duplicates_by_triggers(bind))
    for file in sql_files.names("postgresql", revision):
        in_short_transaction(bind, lambda file=file: sql_files.install(bind, file))


def refuse_duplicates_by_triggers(bind: sa.Connection) -> None:
    sql_files.install(bind, "duplicates")
    op.execute(f"ALTER TABLE projects DROP CONSTRAINT IF EXISTS {UNIQUE}")


def downgrade() -> None:
    """Go back, with a key apart for the later of two projects that the version before takes for duplicates."""
    postgresql = op.get_bind().dialect.name == "postgresql"
    for name in ("projects_unequal_in", "projects_unequal_over"):
        op.execute(f"DROP FUNCTION {name}() CASCADE" if postgresql else f"DROP TRIGGER {name}")
    # `flask recount` of the version before gives such projects the keys that it gives to duplicates.
    apart = sa.text(
        "UPDATE projects SET url_key = 'apart ' || id WHERE EXISTS (SELECT 1 FROM projects o "
        "WHERE o.owner_id = projects.owner_id AND o.url_key = projects.url_key AND o.id < projects.id)"
    )
    op.execute(apart)
    if postgresql:
        op.execute("DROP FUNCTION search_known_words(text[], bigint)")
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    op.execute("ALTER TABLE revisions DROP COLUMN rejected")
    for column in ("owner_since", "repository_key"):
        drop_project_column(column)
    if postgresql:
        op.execute(f"ALTER TABLE projects ADD {RULE}")
    else:
        op.execute(f"CREATE UNIQUE INDEX {UNIQUE} ON projects (owner_id, url_key)")
