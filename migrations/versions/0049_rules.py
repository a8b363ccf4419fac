"""Rules with their facts, days and actions; the keys of projects that rules count by; until when a rule holds a project.

The rules that come with the service are off. On PostgreSQL the keys are written in portions, while others write.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

from directory.db import first_rows, sql_files
from directory.db.rewriting import rewrite_rule_keys
from directory.db.schema_changes import add_project_column, build_indexes, drop_project_column, in_short_transaction
from directory.services.text.keys import keys_of

revision = "0049"
down_revision = "0048"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
INSTANT = sa.DateTime(timezone=True)
LIST = sa.JSON().with_variant(JSONB(), "postgresql")
COLUMNS = {"domain": "VARCHAR(255)", "text_key": "VARCHAR(32)"}
HELD_UNTIL = {"postgresql": "TIMESTAMP WITH TIME ZONE", "sqlite": "DATETIME"}
TABLES = ("rule_actions", "rule_facts", "rule_days", "rule_previews", "rules")
INDEXES = {
    "ix_projects_held_until": "projects (held_until) WHERE held_until IS NOT NULL",
    "ix_projects_domain_status": "projects (domain, status) WHERE domain IS NOT NULL",
    "ix_projects_text_key": "projects (text_key) WHERE status = 'rejected' AND text_key IS NOT NULL",
}


def upgrade() -> None:
    bind = op.get_bind()
    for name, kind in {**COLUMNS, "held_until": HELD_UNTIL[bind.dialect.name]}.items():
        add_project_column(name, kind)
    rewrite_rule_keys(keys_of)
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, make_tables)
            adding = "ALTER TABLE audit_entries ADD COLUMN IF NOT EXISTS rule_id BIGINT"
            in_short_transaction(bind, lambda: op.execute(adding))
            build_indexes(bind, INDEXES)
        return
    make_tables()
    op.execute("ALTER TABLE audit_entries ADD COLUMN rule_id INTEGER")
    sql_files.install(bind, "log")  # the new column does not change either
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")


def make_tables() -> None:
    for table in TABLES:  # of a run that was interrupted
        op.execute(f"DROP TABLE IF EXISTS {table}")
    make_rules()
    make_facts()
    make_actions()
    first_rows.insert_rules(op.get_bind())


def make_rules() -> None:
    op.create_table(
        "rules",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(60), nullable=False),
        sa.Column("judges", LIST, nullable=False),
        sa.Column("conditions", sa.JSON(), nullable=False),
        sa.Column("effect", sa.String(16), nullable=False),
        sa.Column("reason", sa.String(1000)),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("version", ID, nullable=False),
        sa.Column("changed_at", INSTANT, nullable=False),
        sa.CheckConstraint("effect IN ('mark', 'hold', 'reject')", name=op.f("ck_rules_effect")),
        sa.CheckConstraint("state IN ('off', 'dry', 'on')", name=op.f("ck_rules_state")),
        sa.CheckConstraint("(effect = 'reject') = (reason IS NOT NULL)", name=op.f("ck_rules_reason")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rules")),
        sa.UniqueConstraint("name", name=op.f("uq_rules_name")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "rule_previews",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_rule_previews")),
    )
    op.create_index(op.f("ix_rule_previews_at"), "rule_previews", ["at"])
    op.create_table(
        "rule_days",
        sa.Column("rule_id", ID, nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("matched", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["rule_id"], ["rules.id"], name=op.f("fk_rule_days_rule_id_rules"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("rule_id", "day", name=op.f("pk_rule_days")),
    )


def make_facts() -> None:
    op.create_table(
        "rule_facts",
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.String(16), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.Column("project_id", ID),
        sa.Column("account_id", ID, nullable=False),
        sa.Column("facts", sa.JSON(), nullable=False),
        sa.Column("words", sa.LargeBinary(), nullable=False),
        sa.CheckConstraint("kind IN ('submission', 'edit', 'registration')", name=op.f("ck_rule_facts_kind")),
        sa.ForeignKeyConstraint(
            ["account_id"], ["users.id"], name=op.f("fk_rule_facts_account_id_users"), ondelete="RESTRICT"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rule_facts")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_rule_facts_kind_at"), "rule_facts", ["kind", "at"])
    op.create_index(op.f("ix_rule_facts_account_id_at"), "rule_facts", ["account_id", "at"])


def make_actions() -> None:
    op.create_table(
        "rule_actions",
        sa.Column("id", ID, nullable=False),
        sa.Column("rule_id", ID, nullable=False),
        sa.Column("rule_name", sa.String(60), nullable=False),
        sa.Column("project_id", ID, nullable=False),
        sa.Column("of_revision", sa.Boolean(), nullable=False),
        sa.Column("effect", sa.String(16), nullable=False),
        sa.Column("acted", sa.Boolean(), nullable=False),
        sa.Column("version", ID, nullable=False),
        sa.Column("at", INSTANT, nullable=False),
        sa.CheckConstraint("effect IN ('mark', 'hold', 'reject')", name=op.f("ck_rule_actions_effect")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], name=op.f("fk_rule_actions_project_id_projects"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_rule_actions")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_rule_actions_project_id"), "rule_actions", ["project_id"])
    op.create_index(op.f("ix_rule_actions_rule_id_at"), "rule_actions", ["rule_id", "at"])


def downgrade() -> None:
    """Go back: the rules and what they noted are lost, and what they hold is in the queue again."""
    for name in INDEXES:
        op.execute(f"DROP INDEX {name}")
    for name in (*COLUMNS, "held_until"):
        drop_project_column(name)
    op.execute("ALTER TABLE audit_entries DROP COLUMN rule_id")
    for table in TABLES:
        op.drop_table(table)
