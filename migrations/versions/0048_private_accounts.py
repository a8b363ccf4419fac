"""Who gave a role, whether an account has to confirm its address, and whether a provider opened a session."""

from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0048"
down_revision = "0047"
branch_labels = None
depends_on = None

COLUMNS = (
    ("users", "role_source", "VARCHAR(16) NOT NULL DEFAULT 'local'"),
    ("users", "must_verify", "BOOLEAN NOT NULL DEFAULT {false}"),
    ("sessions", "by_provider", "BOOLEAN NOT NULL DEFAULT {false}"),
)
FALSE = {"postgresql": "false", "sqlite": "0"}


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: add_columns("ADD COLUMN IF NOT EXISTS"))
    else:
        add_columns("ADD COLUMN")


def add_columns(adding: str) -> None:
    false = FALSE[op.get_bind().dialect.name]
    for table, name, kind in COLUMNS:
        op.execute(f"ALTER TABLE {table} {adding} {name} {kind.format(false=false)}")


def downgrade() -> None:
    """Go back: roles that providers gave stay, and nobody has to confirm an address."""
    for table, name, _ in COLUMNS:
        op.execute(f"ALTER TABLE {table} DROP COLUMN {name}")
