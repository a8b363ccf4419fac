"""A vote counts unless its voter is suspended or an administrator has discounted it.

On PostgreSQL the database follows a suspension by itself, so that processes of the version before keep the counters
right too, and those counters that include votes of suspended users are counted again project by project, while others
read and write. On SQLite a migration is one transaction.
"""

from collections.abc import Iterable
from datetime import UTC
from math import log10
from typing import Any

import sqlalchemy as sa
from alembic import op

from directory.db.portions import AT_ONCE, Portions
from directory.db.schema_changes import build_indexes, in_portion, in_short_transaction

revision = "0026"
down_revision = "0025"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
WEEK = 7 * 24 * 60 * 60  # as in directory.services.catalog.ranking
OLD_INDEX, INDEX = "ix_upvotes_project_id", "ix_upvotes_project_id_created_at_user_id"
INDEXED = ("project_id", "created_at", "user_id")

# Those of 0015, but a vote that is discounted changes no counter. The discount is looked for after the project is locked,
# under whose lock it is made and lifted.
VOTE = """
CREATE OR REPLACE FUNCTION {name}(wanted bigint, voter bigint, wish text, cast_at timestamptz)
RETURNS TABLE (project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE {settings} AS $$
DECLARE
    project record;
    removed integer := 0;
    added integer := 0;
BEGIN
    PERFORM 1 FROM users u WHERE u.id = voter AND u.status = 'active' FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'suspended'::text, 0::bigint, false, 0::bigint;
        RETURN;
    END IF;
    SELECT p.status, p.owner_id, p.upvotes, p.listed_at INTO project
        FROM projects p WHERE p.id = wanted FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF project.status = 'live' THEN
        IF wish <> 'cast' THEN
            DELETE FROM upvotes v WHERE v.user_id = voter AND v.project_id = wanted;
            GET DIAGNOSTICS removed = ROW_COUNT;
        END IF;
        IF wish = 'cast' OR wish = 'toggle' AND removed = 0 THEN
            INSERT INTO upvotes (user_id, project_id, created_at) VALUES (voter, wanted, cast_at)
                ON CONFLICT ON CONSTRAINT pk_upvotes DO NOTHING;
            GET DIAGNOSTICS added = ROW_COUNT;
        END IF;
        IF added <> removed {unless_discounted} THEN
            project.upvotes := project.upvotes + added - removed;
            UPDATE projects p SET upvotes = project.upvotes,
                hot = log((project.upvotes + 1)::float8) + extract(epoch FROM project.listed_at)::float8 / 604800::float8
                WHERE p.id = wanted;
        END IF;
    END IF;
    RETURN QUERY SELECT project.status::text, project.owner_id,
        wish = 'cast' OR wish = 'toggle' AND removed = 0, project.upvotes;
END $$
"""
SETTINGS = {"vote": "", "vote_soon": "SET lock_timeout = 200"}
UNLESS_DISCOUNTED = (
    "AND NOT EXISTS (SELECT FROM vote_discounts d WHERE d.user_id = voter AND d.project_id = wanted)"
)

# The account first, then the projects in the order of their ids, then the counters.
FOLLOW = """
CREATE OR REPLACE FUNCTION count_votes_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    step integer := CASE WHEN NEW.status = 'active' THEN 1 ELSE -1 END;
BEGIN
    PERFORM 1 FROM users u WHERE u.id = NEW.id FOR UPDATE;
    PERFORM 1 FROM projects p WHERE p.id IN (SELECT v.project_id FROM upvotes v WHERE v.user_id = NEW.id)
        ORDER BY p.id FOR NO KEY UPDATE;
    UPDATE projects p SET upvotes = p.upvotes + step,
        hot = log((p.upvotes + step + 1)::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8
    FROM upvotes v
    WHERE v.user_id = NEW.id AND p.id = v.project_id AND NOT EXISTS (
        SELECT FROM vote_discounts d WHERE d.user_id = v.user_id AND d.project_id = v.project_id
    );
    RETURN NULL;
END $$
"""
# For the version before, which then takes back all votes of an account that is deleted, as if each of them counted.
FREE = """
CREATE OR REPLACE FUNCTION lift_discounts_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE projects p SET upvotes = p.upvotes + 1,
        hot = log((p.upvotes + 2)::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8
    FROM upvotes v JOIN vote_discounts d ON d.user_id = v.user_id AND d.project_id = v.project_id
    WHERE v.user_id = NEW.id AND p.id = v.project_id AND NEW.status = 'active';
    DELETE FROM vote_discounts d WHERE d.user_id = NEW.id;
    RETURN NULL;
END $$
"""
# By their names they come before the trigger that locks the counts of users, which every registration changes.
TRIGGERS = {
    "users_all_votes_counted": (
        "AFTER UPDATE OF status ON users FOR EACH ROW WHEN (OLD.status <> NEW.status)",
        "count_votes_of_user",
    ),
    "users_all_votes_freed": (
        "AFTER UPDATE OF deleted_at ON users FOR EACH ROW "
        "WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL)",
        "lift_discounts_of_user",
    ),
}

COLUMNS = {"listed_at": sa.DateTime(timezone=True)}
COUNTED = sa.text(
    "SELECT p.id, p.listed_at, p.upvotes, (SELECT count(*) FROM upvotes v JOIN users u ON u.id = v.user_id "
    "WHERE v.project_id = p.id AND u.status = 'active' AND NOT EXISTS (SELECT 1 FROM vote_discounts d "
    "WHERE d.user_id = v.user_id AND d.project_id = v.project_id)) AS n FROM projects p WHERE p.id IN :ids"
).columns(**COLUMNS)
CAST = sa.text(
    "SELECT p.id, p.listed_at, p.upvotes, (SELECT count(*) FROM upvotes v WHERE v.project_id = p.id) AS n "
    "FROM projects p WHERE p.id IN :ids"
).columns(**COLUMNS)
SET = sa.text("UPDATE projects SET upvotes = :n, hot = :hot WHERE id = :id")
VOTED = sa.text(
    "SELECT project_id FROM upvotes WHERE user_id = :voter AND project_id > :after ORDER BY project_id LIMIT :most"
)
LOCK = sa.text("SELECT id FROM projects WHERE id IN :ids ORDER BY id FOR NO KEY UPDATE")
NOT_COUNTED = (
    "SELECT v.project_id FROM upvotes v JOIN users u ON u.id = v.user_id WHERE u.status <> 'active' "
    "UNION SELECT project_id FROM vote_discounts ORDER BY project_id"
)


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(bind, lambda: add_audit_column(if_not_exists=True))
            in_short_transaction(bind, count_from_now_on)
            count_again(bind)
            build_indexes(bind, {INDEX: f"upvotes ({', '.join(INDEXED)})"})
            op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {OLD_INDEX}")
        return
    add_audit_column(if_not_exists=None)
    create_table()
    op.create_index(INDEX, "upvotes", list(INDEXED))
    op.drop_index(OLD_INDEX, "upvotes")
    correct(bind, COUNTED, bind.scalars(sa.text(NOT_COUNTED)))


def add_audit_column(*, if_not_exists: bool | None) -> None:
    op.add_column("audit_entries", sa.Column("votes", sa.JSON(), nullable=True), if_not_exists=if_not_exists)


def create_table() -> None:
    """Make the table of discounts. It has no key to `users`, whose lock would be taken after a project's."""
    op.create_table(
        "vote_discounts",
        sa.Column("user_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("project_id", BIG_ID, autoincrement=False, nullable=False),
        sa.ForeignKeyConstraint(
            ["project_id"], ["projects.id"], "fk_vote_discounts_project_id_projects", ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "project_id", name="pk_vote_discounts"),
    )
    op.create_index("ix_vote_discounts_project_id", "vote_discounts", ["project_id"])


def count_from_now_on() -> None:
    """Have the database follow suspensions, and note whose votes are in the counters and should not be."""
    op.execute("LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE")
    if not sa.inspect(op.get_bind()).has_table("vote_discounts"):
        op.execute("LOCK TABLE projects IN SHARE ROW EXCLUSIVE MODE")
        create_table()
    op.execute("CREATE TABLE IF NOT EXISTS voters_to_recount (user_id bigint PRIMARY KEY)")
    op.execute("INSERT INTO voters_to_recount SELECT id FROM users WHERE status <> 'active' ON CONFLICT DO NOTHING")
    for name, settings in SETTINGS.items():
        op.execute(VOTE.format(name=name, settings=settings, unless_discounted=UNLESS_DISCOUNTED))
    op.execute(FOLLOW)
    op.execute(FREE)
    for name, (when, function) in TRIGGERS.items():
        op.execute(f"CREATE OR REPLACE TRIGGER {name} {when} EXECUTE FUNCTION {function}()")


def count_again(bind: sa.Connection) -> None:
    """Count the projects again that suspended users have voted for, some at a time."""
    portions = Portions("projects that suspended users voted for")
    for voter in list(bind.scalars(sa.text("SELECT user_id FROM voters_to_recount ORDER BY user_id"))):
        after = 0
        while ids := list(bind.scalars(VOTED, {"voter": voter, "after": after, "most": portions.size})):
            in_portion(bind, portions, len(ids), lambda ids=ids: correct(bind, COUNTED, ids))
            after = ids[-1]
    in_short_transaction(bind, lambda: op.execute("DROP TABLE voters_to_recount"))


def correct(bind: sa.Connection, counting: Any, project_ids: Iterable[int]) -> None:
    """Give the projects the number of votes that a query counts, and the rank that follows, under their locks."""
    ids = list(project_ids)
    for start in range(0, len(ids), AT_ONCE):
        given = {"ids": ids[start : start + AT_ONCE]}
        if bind.dialect.name == "postgresql":
            bind.execute(LOCK.bindparams(sa.bindparam("ids", expanding=True)), given)
        found = bind.execute(counting.bindparams(sa.bindparam("ids", expanding=True)), given).all()
        wrong = [{"id": p.id, "n": p.n, "hot": _rank(p)} for p in found if p.n != p.upvotes]
        if wrong:
            bind.execute(SET, wrong)


def _rank(project: Any) -> float:
    at = project.listed_at if project.listed_at.tzinfo else project.listed_at.replace(tzinfo=UTC)
    return log10(project.n + 1) + at.timestamp() / WEEK


def downgrade() -> None:
    bind = op.get_bind()
    postgresql = bind.dialect.name == "postgresql"
    if postgresql:
        op.execute("LOCK TABLE users, projects, upvotes IN SHARE ROW EXCLUSIVE MODE")
        for name, (_, function) in TRIGGERS.items():
            op.execute(f"DROP TRIGGER {name} ON users")
            op.execute(f"DROP FUNCTION {function}()")
        for name, settings in SETTINGS.items():
            op.execute(VOTE.format(name=name, settings=settings, unless_discounted=""))
    correct(bind, CAST, list(bind.scalars(sa.text(NOT_COUNTED))))
    op.drop_table("vote_discounts")
    op.create_index(OLD_INDEX, "upvotes", ["project_id"])
    op.drop_index(INDEX, "upvotes")
    op.execute("ALTER TABLE audit_entries DROP COLUMN votes")
