"""What the database keeps right by itself: category counters, the tag index, the append-only log; and the search index.

The index is empty until 0056 writes the words of all projects.
"""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

STATES = ("live", "pending", "rejected")

SQLITE_COUNT = "UPDATE categories SET {changes} WHERE id = {row}.category_id;"
SQLITE_TAG = "INSERT INTO project_tags (tag, project_id) SELECT value, NEW.id FROM json_each(NEW.tags);"


def _sqlite_count(row: str, sign: str) -> str:
    changes = ", ".join(f"{s}_projects = {s}_projects {sign} ({row}.status = '{s}')" for s in STATES)
    return SQLITE_COUNT.format(changes=changes, row=row)


SQLITE = {
    "projects_counted_in": f"AFTER INSERT ON projects BEGIN {_sqlite_count('NEW', '+')} END",
    "projects_counted_out": f"AFTER DELETE ON projects BEGIN {_sqlite_count('OLD', '-')} END",
    "projects_counted_over": (
        "AFTER UPDATE OF status, category_id ON projects "
        "WHEN OLD.status <> NEW.status OR OLD.category_id <> NEW.category_id "
        f"BEGIN {_sqlite_count('OLD', '-')} {_sqlite_count('NEW', '+')} END"
    ),
    "projects_tagged_in": f"AFTER INSERT ON projects BEGIN {SQLITE_TAG} END",
    "projects_tagged_over": (
        "AFTER UPDATE OF tags ON projects WHEN OLD.tags <> NEW.tags "
        f"BEGIN DELETE FROM project_tags WHERE project_id = NEW.id; {SQLITE_TAG} END"
    ),
    "audit_entries_kept": "BEFORE DELETE ON audit_entries BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
    "audit_entries_unchanged": "BEFORE UPDATE ON audit_entries BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END",
}

# Inserts are counted by the statement: a bulk load of a million rows must not update a dozen counters a million times.
# Changes and deletions are counted by the row, with a WHEN that a vote does not meet; the smaller category goes first,
# so that two projects changing places between two categories do not wait for each other.
POSTGRESQL_FUNCTIONS = {
    "projects_counted_in": """
        UPDATE categories SET live_projects = live_projects + n.live, pending_projects = pending_projects + n.pending,
            rejected_projects = rejected_projects + n.rejected
        FROM (
            SELECT category_id, count(*) FILTER (WHERE status = 'live') AS live,
                count(*) FILTER (WHERE status = 'pending') AS pending,
                count(*) FILTER (WHERE status = 'rejected') AS rejected
            FROM added GROUP BY category_id ORDER BY category_id
        ) AS n WHERE categories.id = n.category_id;
        INSERT INTO project_tags (tag, project_id)
            SELECT t.tag, added.id FROM added, jsonb_array_elements_text(added.tags) AS t (tag);
        RETURN NULL;
    """,
    "projects_counted_out": """
        UPDATE categories SET live_projects = live_projects - (OLD.status = 'live')::int,
            pending_projects = pending_projects - (OLD.status = 'pending')::int,
            rejected_projects = rejected_projects - (OLD.status = 'rejected')::int
        WHERE id = OLD.category_id;
        RETURN NULL;
    """,
    "projects_counted_over": """
        PERFORM 1 FROM categories WHERE id IN (OLD.category_id, NEW.category_id) ORDER BY id FOR NO KEY UPDATE;
        UPDATE categories SET live_projects = live_projects - (OLD.status = 'live')::int,
            pending_projects = pending_projects - (OLD.status = 'pending')::int,
            rejected_projects = rejected_projects - (OLD.status = 'rejected')::int
        WHERE id = OLD.category_id;
        UPDATE categories SET live_projects = live_projects + (NEW.status = 'live')::int,
            pending_projects = pending_projects + (NEW.status = 'pending')::int,
            rejected_projects = rejected_projects + (NEW.status = 'rejected')::int
        WHERE id = NEW.category_id;
        RETURN NULL;
    """,
    "projects_tagged_over": """
        DELETE FROM project_tags WHERE project_id = NEW.id;
        INSERT INTO project_tags (tag, project_id) SELECT tag, NEW.id FROM jsonb_array_elements_text(NEW.tags) AS t (tag);
        RETURN NULL;
    """,
    "audit_entries_kept": "RAISE EXCEPTION 'the log is append-only';",
}
POSTGRESQL_TRIGGERS = {
    "projects_counted_in": "AFTER INSERT ON projects REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "projects_counted_out": "AFTER DELETE ON projects FOR EACH ROW",
    "projects_counted_over": (
        "AFTER UPDATE OF status, category_id ON projects FOR EACH ROW "
        "WHEN (OLD.status <> NEW.status OR OLD.category_id <> NEW.category_id)"
    ),
    "projects_tagged_over": "AFTER UPDATE OF tags ON projects FOR EACH ROW WHEN (OLD.tags <> NEW.tags)",
    "audit_entries_kept": "BEFORE UPDATE OR DELETE ON audit_entries FOR EACH ROW",
}


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(
            "CREATE TABLE project_search (project_id bigint CONSTRAINT pk_project_search PRIMARY KEY "
            "CONSTRAINT fk_project_search_project_id_projects REFERENCES projects (id) ON DELETE CASCADE, "
            "document tsvector NOT NULL)"
        )
        op.execute("CREATE INDEX ix_project_search_document ON project_search USING gin (document)")
        for name, body in POSTGRESQL_FUNCTIONS.items():
            op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} END $$")
        for name, when in POSTGRESQL_TRIGGERS.items():
            op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    else:
        op.execute(
            "CREATE VIRTUAL TABLE project_search USING fts5(title, brief, description, tokenize='ascii', detail='column')"
        )
        for name, when in SQLITE.items():
            op.execute(f"CREATE TRIGGER {name} {when}")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        for name, when in POSTGRESQL_TRIGGERS.items():
            op.execute(f"DROP TRIGGER {name} ON {'projects' if ' projects ' in f'{when} ' else 'audit_entries'}")
        for name in POSTGRESQL_FUNCTIONS:
            op.execute(f"DROP FUNCTION {name}()")
    else:
        for name in SQLITE:
            op.execute(f"DROP TRIGGER {name}")
    op.execute("DROP TABLE project_search")
