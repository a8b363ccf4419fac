"""When a user was last seen, how many projects there are of a user, and the indexes of the deliveries' filters."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
KEY = "fk_user_submissions_user_id_users"
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
# triggers come after those that count in categories: every transaction locks a category before a user's count.
POSTGRESQL_FUNCTIONS = {
    "users_listed_in": "INSERT INTO user_submissions SELECT id, 0 FROM added;",
    "projects_submitted_in": """
        UPDATE user_submissions SET submissions = submissions + n.size
        FROM (SELECT owner_id, count(*) AS size FROM added GROUP BY owner_id ORDER BY owner_id) AS n
        WHERE user_submissions.user_id = n.owner_id;
    """,
    "projects_submitted_out": SUBTRACT,
}
POSTGRESQL_TRIGGERS = {
    "users_listed_in": "AFTER INSERT ON users REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "projects_submitted_in": "AFTER INSERT ON projects REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "projects_submitted_out": "AFTER DELETE ON projects FOR EACH ROW",
}
NEVER = {"postgresql": "'1970-01-01 00:00:00+00'", "sqlite": "'1970-01-01 00:00:00.000000'"}
SEEN = """
UPDATE users SET last_seen_at = (
    SELECT max(used.at) FROM (
        SELECT user_id, last_seen_at AS at FROM sessions
        UNION ALL SELECT user_id, last_used_at FROM tokens WHERE last_used_at IS NOT NULL
    ) AS used WHERE used.user_id = users.id
) WHERE id IN (SELECT user_id FROM sessions UNION SELECT user_id FROM tokens WHERE last_used_at IS NOT NULL)
"""
FILTERS = (("endpoint", "id", "state"), ("event", "id"), ("project_id", "id"))


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    postgresql = dialect == "postgresql"
    op.create_table(
        "user_submissions",
        sa.Column("user_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("submissions", BIG_ID, nullable=False),
        sa.CheckConstraint("submissions >= 0", name=op.f("ck_user_submissions_submissions")),
        *(() if postgresql else (sa.ForeignKeyConstraint(["user_id"], ["users.id"], KEY, ondelete="CASCADE"),)),
        sa.PrimaryKeyConstraint("user_id", name="pk_user_submissions"),
    )
    # As with the standings: all users are counted while others still write, and then, under the lock that the triggers
    # take, those counts that have changed meanwhile.
    op.execute(f"INSERT INTO user_submissions {COUNTED}")
    op.create_index("ix_user_submissions_submissions_user_id", "user_submissions", ["submissions", "user_id"])
    for names in FILTERS:
        op.create_index(f"ix_deliveries_{'_'.join(names)}", "deliveries", list(names))
    if postgresql:
        op.execute("ANALYZE user_submissions")
        _count_from_now_on()
    else:
        for name, when in SQLITE.items():
            op.execute(f"CREATE TRIGGER {name} {when}")
    # With a default in the database: while an upgrade is under way the previous version adds users without it.
    kind = "timestamptz" if postgresql else "DATETIME"
    op.execute(f"ALTER TABLE users ADD COLUMN last_seen_at {kind} NOT NULL DEFAULT {NEVER[dialect]}")
    op.execute(SEEN)
    op.create_index("ix_users_last_seen_at_id", "users", ["last_seen_at", "id"])


def _count_from_now_on() -> None:
    for name, body in POSTGRESQL_FUNCTIONS.items():
        op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$")
    for name, when in POSTGRESQL_TRIGGERS.items():
        op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    op.execute(
        f"INSERT INTO user_submissions AS s SELECT * FROM ({COUNTED}) AS counted (user_id, size) "
        "WHERE NOT EXISTS (SELECT 1 FROM user_submissions k WHERE (k.user_id, k.submissions) = (counted.user_id, size)) "
        "ON CONFLICT (user_id) DO UPDATE SET submissions = excluded.submissions"
    )
    op.create_foreign_key(KEY, "user_submissions", "users", ["user_id"], ["id"], ondelete="CASCADE")


def downgrade() -> None:
    postgresql = op.get_bind().dialect.name == "postgresql"
    op.drop_index("ix_users_last_seen_at_id", "users")
    op.execute("ALTER TABLE users DROP COLUMN last_seen_at")
    for names in FILTERS:
        op.drop_index(f"ix_deliveries_{'_'.join(names)}", "deliveries")
    for name in SQLITE:
        op.execute(f"DROP TRIGGER {name}" + (f" ON {name.partition('_')[0]}" if postgresql else ""))
        if postgresql:
            op.execute(f"DROP FUNCTION {name}()")
    op.drop_table("user_submissions")
