"""The last uses of accounts in a table of their own, which votes write: an account's row has an entry in many indexes.

Processes of the version before read on, from the column that 0072 drops once they are replaced. On PostgreSQL the table
is filled in portions, and every step can be run again.
"""

from functools import partial

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.portions import Portions
from directory.db.schema_changes import in_portion, in_short_transaction

revision = "0071"
down_revision = "0070"
branch_labels = None
depends_on = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
MISSING = "FROM users u WHERE NOT EXISTS (SELECT 1 FROM last_uses l WHERE l.user_id = u.id)"
NEXT = sa.text(f"SELECT u.id {MISSING} AND u.id > :after ORDER BY u.id LIMIT :size")
FILL = f"INSERT INTO last_uses (user_id, seen_at) SELECT u.id, u.last_seen_at {MISSING}"


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, partial(make_table, bind))
            fill_some_at_a_time(bind)
            op.execute("ANALYZE last_uses")
        return
    make_table(bind)
    op.execute(FILL)


def make_table(bind: sa.Connection) -> None:
    """Make the table, unless it is there, and have new users get a row from now on."""
    if sa.inspect(bind).has_table("last_uses"):
        return
    op.create_table(
        "last_uses",
        sa.Column("user_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_last_uses")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=op.f("fk_last_uses_user_id_users"), ondelete="CASCADE"),
    )
    op.create_index("ix_last_uses_seen_at_user_id", "last_uses", ["seen_at", "user_id"])
    sql_files.install(bind, "last_uses")


def fill_some_at_a_time(bind: sa.Connection) -> None:
    """Add the rows of the users that have none."""
    portions, after = Portions("copying last uses"), 0
    fill = sa.text(f"{FILL} AND u.id = ANY(:ids)")
    while ids := list(bind.scalars(NEXT, {"after": after, "size": portions.size})):
        these = fill.bindparams(sa.bindparam("ids", ids, sa.ARRAY(sa.BigInteger)))
        in_portion(bind, portions, len(ids), partial(bind.execute, these))
        after = ids[-1]


def downgrade() -> None:
    """Go back: the column gets the times that were recorded meanwhile."""
    op.execute(
        "UPDATE users SET last_seen_at = l.seen_at FROM last_uses l "
        "WHERE l.user_id = users.id AND l.seen_at <> users.last_seen_at"
    )
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION users_unseen_in() CASCADE")
    else:
        op.execute("DROP TRIGGER users_unseen_in")
    op.drop_table("last_uses")
