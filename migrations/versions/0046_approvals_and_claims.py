"""Approvals by several people, and claims of those who review.

0052 installs the triggers that delete those of a person who may no longer review a project.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0046"
down_revision = "0045"
branch_labels = None
depends_on = None

TABLES = ("approvals", "review_claims")
ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_tables)
    else:
        make_tables()


def make_tables() -> None:
    for table in TABLES:
        op.execute(f"DROP TABLE IF EXISTS {table}")
    op.create_table(
        "approvals",
        *of_person_and_project("approvals"),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("project_id", "user_id", name=op.f("pk_approvals")),
    )
    op.create_index(op.f("ix_approvals_user_id"), "approvals", ["user_id"])
    op.create_table(
        "review_claims",
        *of_person_and_project("review_claims"),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_review_claims")),
    )
    op.create_index(op.f("ix_review_claims_user_id"), "review_claims", ["user_id"])
    op.create_index(op.f("ix_review_claims_until"), "review_claims", ["until"])


def of_person_and_project(table: str) -> list[sa.schema.SchemaItem]:
    """The columns that both tables have, with their foreign keys."""
    return [
        sa.Column("project_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("version", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f(f"fk_{table}_project_id_projects"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["users.id"], name=op.f(f"fk_{table}_user_id_users"), ondelete="RESTRICT"
        ),
    ]


def downgrade() -> None:
    """Go back: approvals that do not suffice yet, and claims, are lost."""
    for table in TABLES:
        op.drop_table(table)
