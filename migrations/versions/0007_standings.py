"""How the projects stand by votes, in a table of their own, kept by triggers: what the orders by votes are read from."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY = "fk_standings_project_id_projects"
KEPT = "status, category_id, upvotes, hot"
ORDERS = (("status", "upvotes"), ("status", "hot"), ("status", "category_id", "upvotes"), ("status", "category_id", "hot"))

OVER = "UPDATE standings SET {} WHERE project_id = NEW.id;".format(
    ", ".join(f"{name} = NEW.{name}" for name in KEPT.split(", "))
)
CHANGED = " OR ".join(f"OLD.{name} <> NEW.{name}" for name in KEPT.split(", "))
SQLITE = {
    "projects_ranked_in": (
        "AFTER INSERT ON projects BEGIN "
        "INSERT INTO standings VALUES (NEW.id, NEW.status, NEW.category_id, NEW.upvotes, NEW.hot); END"
    ),
    "projects_ranked_over": f"AFTER UPDATE OF {KEPT} ON projects WHEN {CHANGED} BEGIN {OVER} END",
}
POSTGRESQL_FUNCTIONS = {
    "projects_ranked_in": f"INSERT INTO standings SELECT id, {KEPT} FROM added;",
    "projects_ranked_over": OVER,
}
# Without a condition, though an update that changes nothing is rare: PostgreSQL reads a trigger's again from its text for
# each statement, which would make a vote a tenth dearer.
POSTGRESQL_TRIGGERS = {
    "projects_ranked_in": "AFTER INSERT ON projects REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "projects_ranked_over": f"AFTER UPDATE OF {KEPT} ON projects FOR EACH ROW",
}


def upgrade() -> None:
    postgresql = op.get_bind().dialect.name == "postgresql"
    op.create_table(
        "standings",
        sa.Column("project_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("category_id", BIG_ID, nullable=False),
        sa.Column("upvotes", BIG_ID, nullable=False),
        sa.Column("hot", sa.Float(precision=53), nullable=False),
        *(() if postgresql else (sa.ForeignKeyConstraint(["project_id"], ["projects.id"], KEY, ondelete="CASCADE"),)),
        sa.PrimaryKeyConstraint("project_id", name="pk_standings"),
    )
    # All of them while others still write; then, under the lock that the triggers take, those that they wrote to: of a
    # million projects the first takes nine seconds, the other three. The foreign key takes that lock too, so it is late.
    op.execute(f"INSERT INTO standings SELECT id, {KEPT} FROM projects ORDER BY id")
    for names in ORDERS:
        op.create_index(f"ix_standings_{'_'.join(names)}_project_id", "standings", [*names, "project_id"])
    if postgresql:
        op.execute("ANALYZE standings")
        for name, body in POSTGRESQL_FUNCTIONS.items():
            op.execute(
                f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"
            )
        for name, when in POSTGRESQL_TRIGGERS.items():
            op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
        op.execute(
            "DELETE FROM standings s WHERE NOT EXISTS (SELECT 1 FROM projects p WHERE p.id = s.project_id AND "
            "(p.status, p.category_id, p.upvotes, p.hot) = (s.status, s.category_id, s.upvotes, s.hot))"
        )
        op.execute(
            f"INSERT INTO standings SELECT id, {KEPT} FROM projects p "
            "WHERE NOT EXISTS (SELECT 1 FROM standings s WHERE s.project_id = p.id)"
        )
        op.create_foreign_key(KEY, "standings", "projects", ["project_id"], ["id"], ondelete="CASCADE")
    else:
        for name, when in SQLITE.items():
            op.execute(f"CREATE TRIGGER {name} {when}")


def downgrade() -> None:
    for name in SQLITE:
        op.execute(f"DROP TRIGGER {name}" + (" ON projects" if op.get_bind().dialect.name == "postgresql" else ""))
        if op.get_bind().dialect.name == "postgresql":
            op.execute(f"DROP FUNCTION {name}()")
    op.drop_table("standings")
