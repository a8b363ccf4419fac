"""Fields of the operator's own: their definitions, the values of projects, and the index of these."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from directory.db import sql_files
from directory.db.schema_changes import add_project_column, drop_project_column, in_short_transaction

revision = "0069"
down_revision = "0068"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
JSONB = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name != "postgresql":
        tables()
        add_project_column("fields", "JSON")
        sql_files.install(bind, "fields", "search_removals", "search")
        return
    with op.get_context().autocommit_block():
        in_short_transaction(bind, lambda: None if sa.inspect(bind).has_table("project_fields") else tables())
    add_project_column("fields", "JSONB")
    with op.get_context().autocommit_block():
        in_short_transaction(bind, lambda: sql_files.install(bind, "fields", "search_removals", "search"))


def tables() -> None:
    op.create_table(
        "field_definitions",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("name", sa.String(32), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("label", sa.JSON(), nullable=False),
        sa.Column("help", sa.JSON(), nullable=False),
        sa.Column("choices", JSONB, nullable=False),
        sa.Column("required", sa.Boolean(), nullable=False),
        sa.Column("material", sa.Boolean(), nullable=False),
        sa.Column("audience", sa.String(16), nullable=False),
        sa.Column("facet", sa.Boolean(), nullable=False),
        sa.Column("in_list", sa.Boolean(), nullable=False),
        sa.Column("search", sa.Boolean(), nullable=False),
        sa.Column("categories", JSONB, nullable=True),
        sa.Column("retired", sa.Boolean(), nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("stamp", sa.Integer(), nullable=False),
        sa.Column("indexed_to", sa.BigInteger(), nullable=True),
        sa.CheckConstraint(
            "kind IN ('text', 'url', 'number', 'date', 'truth', 'choice', 'choices')", name=op.f("ck_field_definitions_kind")
        ),
        sa.CheckConstraint("audience IN ('public', 'reviewers')", name=op.f("ck_field_definitions_audience")),
        sa.CheckConstraint("state IN ('present', 'leaving', 'gone')", name=op.f("ck_field_definitions_state")),
        sa.PrimaryKeyConstraint("id", name="pk_field_definitions"),
        sa.UniqueConstraint("name", name="uq_field_definitions_name"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_field_definitions_stamp", "field_definitions", ["stamp"])
    op.create_table(
        "project_fields",
        sa.Column("field", sa.String(32), nullable=False),
        sa.Column("value", sa.String(40), nullable=False),
        sa.Column("project_id", BIG_ID, nullable=False),
        sa.Column("number", sa.Float(53), nullable=True),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name="fk_project_fields_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("field", "value", "project_id", name="pk_project_fields"),
    )
    op.create_index("ix_project_fields_project_id", "project_fields", ["project_id"])
    op.create_index(
        "ix_project_fields_field_number_project_id", "project_fields", ["field", "number", "project_id"],
        postgresql_where=sa.text("number IS NOT NULL"), sqlite_where=sa.text("number IS NOT NULL"),
    )  # fmt: skip
    op.create_table(
        "field_counts",
        sa.Column("field", sa.String(32), nullable=False),
        sa.Column("value", sa.String(40), nullable=False),
        sa.Column("number", sa.Float(53), nullable=False),
        sa.Column("category_id", BIG_ID, nullable=False),
        sa.Column("live_projects", BIG_ID, nullable=False),
        sa.CheckConstraint("live_projects >= 0", name=op.f("ck_field_counts_live_projects")),
        sa.ForeignKeyConstraint(
            ["category_id"], ["categories.id"], name="fk_field_counts_category_id_categories", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("field", "value", "number", "category_id", name="pk_field_counts"),
    )
    op.create_index("ix_field_counts_category_id", "field_counts", ["category_id"])


def downgrade() -> None:
    """Go back: the values and the definitions are lost."""
    on_projects = " ON projects" if op.get_bind().dialect.name == "postgresql" else ""
    for name in ("projects_fields_in", "projects_fields_over", "projects_fields_out", "projects_removal_changed"):
        op.execute(f"DROP TRIGGER {name}{on_projects}")  # the last one names the column
    if op.get_bind().dialect.name == "postgresql":
        functions = "projects_fields_in(), projects_fields_over(), projects_fields_out(), index_fields(bigint, jsonb)"
        op.execute(f"DROP FUNCTION {functions}, uncount_fields(bigint, bigint)")
    op.drop_table("field_counts")
    op.drop_table("project_fields")
    op.drop_table("field_definitions")
    drop_project_column("fields")
    sql_files.install(op.get_bind(), "search_removals")
