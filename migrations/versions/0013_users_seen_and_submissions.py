"""When a user was last seen, how many projects there are of a user, and the indexes of the deliveries' filters.

On PostgreSQL others read and write meanwhile: projects are counted as in 0012, users are written in batches, and what
locks a table takes some milliseconds.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.portions import Portions
from directory.db.schema_changes import (
    add_constraint,
    build_indexes,
    fill_counters,
    in_portion,
    in_short_transaction,
)

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY = "fk_user_submissions_user_id_users"
CHECK = "submissions >= 0"
COUNTED = (
    "SELECT u.id, coalesce(n.size, 0) FROM users u "
    "LEFT JOIN (SELECT owner_id, count(*) AS size FROM projects GROUP BY owner_id) n ON n.owner_id = u.id"
)
ADD = "UPDATE user_submissions SET submissions = submissions + 1 WHERE user_id = NEW.owner_id;"
SUBTRACT = "UPDATE user_submissions SET submissions = submissions - 1 WHERE user_id = OLD.owner_id;"
SQLITE = {
    "users_listed_in": "AFTER INSERT ON users BEGIN INSERT INTO user_submissions VALUES (NEW.id, 0); END",
    "projects_submitted_in": f"AFTER INSERT ON projects BEGIN {ADD} END",
    "projects_submitted_out": f"AFTER DELETE ON projects BEGIN {SUBTRACT} END",
}
# As with the categories, insertions are counted by the statement and deletions by the row. By their names these
# triggers come after those that count in categories: every transaction locks a category before a user's count. A user
# without a count gets one, for the migration adds those that were there before last.
MERGED = "ON CONFLICT (user_id) DO UPDATE SET submissions = s.submissions + excluded.submissions"
POSTGRESQL_FUNCTIONS = {
    "users_listed_in": "INSERT INTO user_submissions SELECT id, 0 FROM added;",
    "projects_submitted_in": (
        "INSERT INTO user_submissions AS s SELECT owner_id, count(*) FROM added GROUP BY owner_id ORDER BY owner_id "
        f"{MERGED};"
    ),
    "projects_submitted_out": (
        f"{SUBTRACT} IF NOT FOUND THEN INSERT INTO user_submissions AS s VALUES (OLD.owner_id, -1) {MERGED}; END IF;"
    ),
}
POSTGRESQL_TRIGGERS = {
    "users_listed_in": "AFTER INSERT ON users REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "projects_submitted_in": "AFTER INSERT ON projects REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "projects_submitted_out": "AFTER DELETE ON projects FOR EACH ROW",
}
NEVER = {"postgresql": "'1970-01-01 00:00:00+00'", "sqlite": "'1970-01-01 00:00:00.000000'"}
USED = (
    "SELECT user_id, last_seen_at AS at FROM sessions "
    "UNION ALL SELECT user_id, last_used_at FROM tokens WHERE last_used_at IS NOT NULL"
)
SEEN = f"""
UPDATE users SET last_seen_at = seen.at
FROM (SELECT user_id, max(at) AS at FROM ({USED}) AS used {{}} GROUP BY user_id) AS seen
WHERE users.id = seen.user_id AND users.last_seen_at < seen.at
"""
BATCH = sa.text("SELECT max(id) FROM (SELECT id FROM users WHERE id > :after ORDER BY id LIMIT :most) AS batch")
ADD_COUNTED = f"""
INSERT INTO user_submissions AS s SELECT * FROM unnest(CAST(:keys AS bigint[]), CAST(:sizes AS bigint[])) {MERGED}
"""
FILTERS = (("endpoint", "id", "state"), ("event", "id"), ("project_id", "id"))
INDEXES = {f"ix_deliveries_{'_'.join(names)}": ("deliveries", names) for names in FILTERS}
INDEXES["ix_users_last_seen_at_id"] = ("users", ("last_seen_at", "id"))


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            upgrade_postgresql(op.get_bind())
        return
    check = sa.CheckConstraint(CHECK, name=op.f("ck_user_submissions_submissions"))
    create_table(check, sa.ForeignKeyConstraint(["user_id"], ["users.id"], KEY, ondelete="CASCADE"))
    op.execute(f"INSERT INTO user_submissions {COUNTED}")
    for name, when in SQLITE.items():
        op.execute(f"CREATE TRIGGER {name} {when}")
    add_last_seen("DATETIME")
    op.execute(SEEN.format(""))
    for name, (table, names) in INDEXES.items():
        op.create_index(name, table, list(names))


def upgrade_postgresql(bind: sa.Connection) -> None:
    fill_counters(bind, count_from_now_on, f"{COUNTED} ORDER BY u.id", ADD_COUNTED)
    add_constraint(bind, "user_submissions", "ck_user_submissions_submissions", f"CHECK ({CHECK})")
    add_constraint(bind, "user_submissions", KEY, "FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE")
    op.execute("ANALYZE user_submissions")
    in_short_transaction(bind, lambda: add_last_seen("timestamptz", "IF NOT EXISTS"))
    seen = sa.text(SEEN.format("WHERE user_id > :after AND user_id <= :last"))
    after, portions = 0, Portions("users' last use", bind.scalar(sa.text("SELECT count(*) FROM users")))
    while last := bind.scalar(BATCH, {"after": after, "most": portions.size}):
        batch = {"after": after, "last": last}
        in_portion(bind, portions, portions.size, lambda batch=batch: bind.execute(seen, batch))
        after = last
    build_indexes(bind, {name: f"{table} ({', '.join(names)})" for name, (table, names) in INDEXES.items()})


def create_table(*constraints: sa.Constraint) -> None:
    op.create_table(
        "user_submissions",
        sa.Column("user_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("submissions", BIG_ID, nullable=False),
        *constraints,
        sa.PrimaryKeyConstraint("user_id", name="pk_user_submissions"),
    )
    op.create_index("ix_user_submissions_submissions_user_id", "user_submissions", ["submissions", "user_id"])


def count_from_now_on() -> None:
    op.execute("LOCK TABLE users, projects IN SHARE ROW EXCLUSIVE MODE")
    op.execute("DROP TABLE IF EXISTS user_submissions")
    create_table()
    for name, body in POSTGRESQL_FUNCTIONS.items():
        op.execute(
            f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {body} RETURN NULL; END $$"
        )
    for name, when in POSTGRESQL_TRIGGERS.items():
        op.execute(f"CREATE OR REPLACE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")


def add_last_seen(kind: str, if_not_exists: str = "") -> None:
    """Add the column with a default in the database: the previous version adds users without it during an upgrade."""
    default = NEVER[op.get_bind().dialect.name]
    op.execute(f"ALTER TABLE users ADD COLUMN {if_not_exists} last_seen_at {kind} NOT NULL DEFAULT {default}")


def downgrade() -> None:
    postgresql = op.get_bind().dialect.name == "postgresql"
    for name, (table, _) in INDEXES.items():
        op.drop_index(name, table)
    op.execute("ALTER TABLE users DROP COLUMN last_seen_at")
    for name in SQLITE:
        op.execute(f"DROP TRIGGER {name}" + (f" ON {name.partition('_')[0]}" if postgresql else ""))
        if postgresql:
            op.execute(f"DROP FUNCTION {name}()")
    op.drop_table("user_submissions")
