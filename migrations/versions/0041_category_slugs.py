"""The slugs that a category had before, which go on leading to it."""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import in_short_transaction

revision = "0041"
down_revision = "0040"
branch_labels = None
depends_on = None

NAMES = ("categories_slug_in", "categories_slug_over")


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        make_table(bind)
        return
    with op.get_context().autocommit_block():
        in_short_transaction(bind, lambda: make_table(bind))


def make_table(bind: sa.Connection) -> None:
    op.create_table(
        "category_slugs",
        sa.Column("slug", sa.String(50), nullable=False),
        sa.Column("category_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.ForeignKeyConstraint(
            ["category_id"], ["categories.id"], op.f("fk_category_slugs_category_id_categories"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("slug", name=op.f("pk_category_slugs")),
    )
    op.create_index(op.f("ix_category_slugs_category_id"), "category_slugs", ["category_id"])
    sql_files.install(bind, "slugs")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION keep_category_slug() CASCADE")
    else:
        for name in NAMES:
            op.execute(f"DROP TRIGGER {name}")
    op.drop_table("category_slugs")
