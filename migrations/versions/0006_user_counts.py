"""How many users there are of a role and a status, kept by triggers, so that nobody has to count them."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

SQLITE_IN = (
    "INSERT INTO user_counts (role, status, users) VALUES (NEW.role, NEW.status, 1) "
    "ON CONFLICT (role, status) DO UPDATE SET users = users + 1;"
)
SQLITE_OUT = "UPDATE user_counts SET users = users - 1 WHERE role = OLD.role AND status = OLD.status;"
SQLITE = {
    "users_counted_in": f"AFTER INSERT ON users BEGIN {SQLITE_IN} END",
    "users_counted_out": f"AFTER DELETE ON users BEGIN {SQLITE_OUT} END",
    "users_counted_over": (
        "AFTER UPDATE OF role, status ON users WHEN OLD.role <> NEW.role OR OLD.status <> NEW.status "
        f"BEGIN {SQLITE_OUT} {SQLITE_IN} END"
    ),
}

# As with the categories: insertions by the statement, changes by the row, and the rows of both kinds in one order, so
# that two users who change places between two kinds do not wait for each other.
POSTGRESQL_OUT = "UPDATE user_counts SET users = users - 1 WHERE role = OLD.role AND status = OLD.status;"
POSTGRESQL_FUNCTIONS = {
    "users_counted_in": """
        INSERT INTO user_counts (role, status, users)
            SELECT role, status, count(*) FROM added GROUP BY role, status ORDER BY role, status
            ON CONFLICT (role, status) DO UPDATE SET users = user_counts.users + excluded.users;
    """,
    "users_counted_out": POSTGRESQL_OUT,
    "users_counted_over": f"""
        PERFORM 1 FROM user_counts WHERE (role, status) IN ((OLD.role, OLD.status), (NEW.role, NEW.status))
            ORDER BY role, status FOR NO KEY UPDATE;
        {POSTGRESQL_OUT}
        INSERT INTO user_counts (role, status, users) VALUES (NEW.role, NEW.status, 1)
            ON CONFLICT (role, status) DO UPDATE SET users = user_counts.users + 1;
    """,
}
POSTGRESQL_TRIGGERS = {
    "users_counted_in": "AFTER INSERT ON users REFERENCING NEW TABLE AS added FOR EACH STATEMENT",
    "users_counted_out": "AFTER DELETE ON users FOR EACH ROW",
    "users_counted_over": (
        "AFTER UPDATE OF role, status ON users FOR EACH ROW WHEN (OLD.role <> NEW.role OR OLD.status <> NEW.status)"
    ),
}


def upgrade() -> None:
    op.create_table(
        "user_counts",
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("users", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.CheckConstraint("users >= 0", name=op.f("ck_user_counts_users")),
        sa.PrimaryKeyConstraint("role", "status", name=op.f("pk_user_counts")),
    )
    # The triggers first: from then on no user is added or changed by anybody else before those there are are counted.
    if op.get_bind().dialect.name == "postgresql":
        for name, body in POSTGRESQL_FUNCTIONS.items():
            op.execute(
                f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"
            )
        for name, when in POSTGRESQL_TRIGGERS.items():
            op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    else:
        for name, when in SQLITE.items():
            op.execute(f"CREATE TRIGGER {name} {when}")
    op.execute("INSERT INTO user_counts SELECT role, status, count(*) FROM users GROUP BY role, status")


def downgrade() -> None:
    for name in SQLITE:
        op.execute(f"DROP TRIGGER {name}" + (" ON users" if op.get_bind().dialect.name == "postgresql" else ""))
        if op.get_bind().dialect.name == "postgresql":
            op.execute(f"DROP FUNCTION {name}()")
    op.drop_table("user_counts")
