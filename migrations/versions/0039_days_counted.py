"""How many votes, registrations and entries of the log each day has, and an index of the waits, for the dashboard.

On PostgreSQL the days are counted from the moment at which the triggers begin to count, while others read and write.
"""

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.schema_changes import build_indexes, fill_counters

revision = "0039"
down_revision = "0038"
branch_labels = None
depends_on = None

TABLES = {"upvotes": ("'upvotes'", "created_at"), "users": ("'signups'", "created_at"), "audit_entries": ("action", "at")}
DAY = {"postgresql": "CAST({} AT TIME ZONE 'UTC' AS date)", "sqlite": "date({})"}
# A kind and a day are one key there.
MERGE = (
    "INSERT INTO day_counts (kind, day, number) "
    "SELECT split_part(key, ' ', 1), CAST(split_part(key, ' ', 2) AS date), size "
    "FROM unnest(CAST(:keys AS text[]), CAST(:sizes AS bigint[])) AS counted (key, size)"
)
OLD, NEW = "ix_audit_entries_action_at", "ix_audit_entries_action_at_waited_seconds_actor_id"
WAITS = "audit_entries (action, at, waited_seconds, actor_id)"
FUNCTIONS = ("count_days()", "count_days_of_log()", "count_vote_of_day()", "move_between_days()",
    "sum_days(text[], date, date)", "forget_days()")


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            build_indexes(bind, {NEW: WAITS})
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {OLD}")
            keys = f"SELECT kind || ' ' || day, size FROM ({counted('postgresql')}) AS days"
            fill_counters(bind, lambda: begin(bind), keys, MERGE)
            op.execute("ANALYZE day_counts")
        return
    op.execute(f"CREATE INDEX {NEW} ON {WAITS}")
    op.execute(f"DROP INDEX {OLD}")
    make_table()
    op.execute(f"INSERT INTO day_counts (kind, day, number) {counted('sqlite')}")
    sql_files.install(bind, "day_counts")


def counted(dialect: str) -> str:
    """The query for the kinds, the days and their numbers; of votes those until the day before yesterday."""
    until = {"postgresql": "CAST(now() AT TIME ZONE 'UTC' AS date) - 2", "sqlite": "date('now', '-2 days')"}[dialect]
    parts = [
        f"SELECT {kind} AS kind, {DAY[dialect].format(at)} AS day, count(*) AS size FROM {table} GROUP BY 1, 2"
        for table, (kind, at) in TABLES.items()
    ]
    days = f"SELECT kind, day, size FROM ({' UNION ALL '.join(parts)}) AS days"
    return f"{days} WHERE kind <> 'upvotes' OR day <= {until} UNION ALL SELECT 'until', {until}, 0"


def begin(bind: sa.Connection) -> None:
    """Have triggers count from now on, in an empty table."""
    op.execute(f"LOCK TABLE {', '.join(TABLES)} IN SHARE ROW EXCLUSIVE MODE")
    op.execute("DROP TABLE IF EXISTS day_counts")
    make_table()
    sql_files.install(bind, "day_counts")


def make_table() -> None:
    op.create_table(
        "day_counts",
        sa.Column("kind", sa.String(40), nullable=False),
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("number", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
    )
    op.create_index(op.f("ix_day_counts_kind_day"), "day_counts", ["kind", "day"])


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS EXCLUSIVE MODE")
        for function in FUNCTIONS:
            op.execute(f"DROP FUNCTION {function} CASCADE")
    else:
        for name in (f"{table}_days_{when}" for table in TABLES for when in ("in", "out", "over")):
            op.execute(f"DROP TRIGGER IF EXISTS {name}")  # the log has none of changes
    op.drop_table("day_counts")
    op.create_index(OLD, "audit_entries", ["action", "at"])
    op.drop_index(NEW, "audit_entries")
