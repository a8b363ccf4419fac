"""A vote writes no index of the projects any more: the orders by votes are those of the standings alone."""

from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

ORDERS = (("status", "upvotes"), ("status", "hot"), ("status", "category_id", "upvotes"), ("status", "category_id", "hot"))
# As with the standings without a condition, which PostgreSQL would read again for each vote.
NOTED = "AFTER UPDATE OF upvotes, hot ON projects FOR EACH ROW"
NOTED_BEFORE = (
    "AFTER UPDATE ON projects FOR EACH ROW "
    "WHEN (OLD.upvotes IS DISTINCT FROM NEW.upvotes OR OLD.hot IS DISTINCT FROM NEW.hot)"
)


def upgrade() -> None:
    for names in ORDERS:
        op.drop_index(f"ix_projects_{'_'.join(names)}_id", "projects")
    if op.get_bind().dialect.name == "postgresql":
        note_votes(NOTED)
        # Room for a second version of a row next to the first, for only there it needs no entry in any index. It holds
        # for what is written from here on; in the pages of old it comes about as votes move rows out of them.
        op.execute("ALTER TABLE projects SET (fillfactor = 85)")


def note_votes(when: str) -> None:
    """Have votes noted then; also those that a replication writes."""
    op.execute("DROP TRIGGER projects_votes_noted ON projects")
    op.execute(f"CREATE TRIGGER projects_votes_noted {when} EXECUTE FUNCTION note_change()")
    op.execute("ALTER TABLE projects ENABLE ALWAYS TRIGGER projects_votes_noted")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE projects RESET (fillfactor)")
        note_votes(NOTED_BEFORE)
    for names in ORDERS:
        op.create_index(f"ix_projects_{'_'.join(names)}_id", "projects", [*names, "id"])
