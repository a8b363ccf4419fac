"""Threads of messages between the owner of a project and its reviewers.

The thread of a project that has a reason of its last rejection or unpublishing begins with that reason, as read. On
PostgreSQL they are copied in portions, while others read and write.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.portions import Portions
from directory.db.schema_changes import in_portion, in_short_transaction

revision = "0044"
down_revision = "0043"
branch_labels = None
depends_on = None

BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
SENDERS = "sender IN ('owner', 'reviewers', 'service')"
KINDS = (
    "kind IN ('message', 'note', 'changes_requested', 'approved', 'rejected', 'unpublished', 'appeal', "
    "'appeal_upheld', 'appeal_reversed')"
)
COPY = (
    "INSERT INTO messages (project_id, at, sender, kind, text) "
    "SELECT id, updated_at, 'reviewers', CASE status WHEN 'rejected' THEN 'rejected' ELSE 'unpublished' END, "
    "rejection_reason FROM projects WHERE rejection_reason <> ''"
)
NEXT = "SELECT id FROM projects WHERE id > :after AND rejection_reason <> '' ORDER BY id LIMIT :size"


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_table)
            copy_reasons(bind)
    else:
        make_table()
        op.execute(f"{COPY} ORDER BY id")


def make_table() -> None:
    op.execute("DROP TABLE IF EXISTS messages")
    op.create_table(
        "messages",
        sa.Column("id", BIG, nullable=False),
        sa.Column("project_id", BIG, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sender", sa.String(16), nullable=False),
        sa.Column("kind", sa.String(20), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("author_id", BIG, nullable=True),
        sa.Column("unread_by", BIG, nullable=True),
        sa.CheckConstraint(SENDERS, name=op.f("ck_messages_sender")),
        sa.CheckConstraint(KINDS, name=op.f("ck_messages_kind")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_messages_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["author_id"], ["users.id"], name=op.f("fk_messages_author_id_users"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_messages_project_id_id"), "messages", ["project_id", "id"])
    op.create_index(op.f("ix_messages_author_id"), "messages", ["author_id"])
    where = sa.text("unread_by IS NOT NULL")
    op.create_index("ix_messages_unread", "messages", ["unread_by"], postgresql_where=where, sqlite_where=where)


def copy_reasons(bind: sa.Connection) -> None:
    """Copy the reasons in the order of the projects' ids. The table is new, so an interrupted copy begins again."""
    portions, after = Portions("copying reasons"), 0
    while ids := list(bind.execute(sa.text(NEXT), {"after": after, "size": portions.size}).scalars()):
        these = sa.text(f"{COPY} AND id BETWEEN :first AND :last ORDER BY id").bindparams(first=ids[0], last=ids[-1])
        in_portion(bind, portions, len(ids), lambda these=these: bind.execute(these))  # type: ignore[misc]
        after = ids[-1]


def downgrade() -> None:
    """Go back: the threads are lost, but for the reasons of the last decisions."""
    op.drop_table("messages")
