"""PostgreSQL's account of what changed in what the public sees, for those who keep answers (docs/adr/0009)."""

from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# A row says which transaction changed a project's votes, from `low` to `high` or back; without a project it says that
# anything may have changed. It is of no use after a crash, so it needs no log. Whoever reads that anything may have
# changed needs no row from before: such a row takes those with it, and every thousandth vote is told as one.
FUNCTION = """
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'ROW' AND random() >= 0.001 THEN
        INSERT INTO changes (project_id, low, high)
            VALUES (NEW.id, least(OLD.upvotes, NEW.upvotes), greatest(OLD.upvotes, NEW.upvotes));
    ELSE
        DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM changes c FOR UPDATE SKIP LOCKED));
        INSERT INTO changes DEFAULT VALUES;
    END IF;
    RETURN NULL;
END $$
"""
# All that a project says to others but its votes and the rank that follows from them.
SAID = (
    "id, owner_id, category_id, title, slug, tagline, description, url, url_key, repository_url, logo_url, tags, "
    "status, rejection_reason, version, created_at, updated_at, submitted_at, published_at"
)
TRIGGERS = {
    "projects_votes_noted": (
        "AFTER UPDATE ON projects FOR EACH ROW "
        "WHEN (OLD.upvotes IS DISTINCT FROM NEW.upvotes OR OLD.hot IS DISTINCT FROM NEW.hot)"
    ),
    "projects_noted": f"AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF {SAID} ON projects FOR EACH STATEMENT",
    "categories_noted": "AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON categories FOR EACH STATEMENT",
    "users_noted": "AFTER UPDATE OF username ON users FOR EACH STATEMENT",
    "project_tags_noted": "AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON project_tags FOR EACH STATEMENT",
    "project_search_noted": "AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON project_search FOR EACH STATEMENT",
}


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(
        "CREATE UNLOGGED TABLE changes "
        "(transaction xid8 NOT NULL DEFAULT pg_current_xact_id(), project_id bigint, low bigint, high bigint)"
    )
    op.execute("CREATE INDEX ix_changes_transaction ON changes (transaction)")
    op.execute(FUNCTION)
    for name, when in TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION note_change()")
        table = when.partition(" ON ")[2].split()[0]
        op.execute(f"ALTER TABLE {table} ENABLE ALWAYS TRIGGER {name}")  # also for what a replication writes


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute("DROP FUNCTION note_change() CASCADE")
    op.execute("DROP TABLE changes")
