"""What came after release 0.1.0: counters, reviews, accounts, logos, votes that count.

It takes the place of 0009 to 0033, which no release had. A database at 0033 is taken as being here (migrations/env.py).

On PostgreSQL the version before reads and writes meanwhile: new columns have a constant default or none, so that no row
is written; indexes are built while others write; counters are filled from the moment at which triggers begin to count;
rows are written in portions. Every step can be run again. On SQLite a migration is one transaction.
"""

from collections.abc import Iterable
from datetime import UTC
from math import log10
from typing import Any

import sqlalchemy as sa
from alembic import op

from directory.db import sql_files
from directory.db.portions import AT_ONCE, Portions
from directory.db.schema_changes import (
    add_constraint,
    build_indexes,
    fill_counters,
    in_portion,
    in_short_transaction,
    rebuild_on_sqlite,
)

revision = "0037"
down_revision = "0008"
branch_labels = None
depends_on = None

BIG_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
TIME = sa.DateTime(timezone=True)
# In the order of bytes on both databases: the beginnings of tags are ranges of it, and equal counts are listed in it.
TAG = sa.String(32, collation="C").with_variant(sa.String(32), "sqlite")
WEEK = 7 * 24 * 60 * 60  # as in directory/services/catalog/ranking.py
PURPOSES = "'reset', 'verify', 'email_changed', 'password_changed', 'passkey_added', 'passkey_removed'"
WITH_LOGO = "(logo) WHERE logo IS NOT NULL"
LOGO_KEY = "CONSTRAINT fk_projects_logo_logos"
PARENT_KEY = "CONSTRAINT fk_tokens_parent_id_tokens FOREIGN KEY(parent_id) REFERENCES tokens (id) ON DELETE CASCADE"

# The types of columns by their name here, on PostgreSQL and on SQLite.
KINDS = {
    "postgresql": {"time": "TIMESTAMP WITH TIME ZONE", "big": "BIGINT", "yes": "true", "no": "false"},
    "sqlite": {"time": "DATETIME", "big": "INTEGER", "yes": "1", "no": "0"},
}
COLUMNS = {
    "audit_entries": {"project_title": "VARCHAR(100)", "changes": "JSON", "votes": "JSON"},
    "users": {
        # Defaults in the database: the version before adds users without these columns.
        "last_seen_at": "{time} NOT NULL DEFAULT '1970-01-01 00:00:00.000000'",
        "deleted_at": "{time}",
        "email_verified_at": "{time}",
        "notify": "BOOLEAN DEFAULT {yes} NOT NULL",
        "may_rename": "BOOLEAN DEFAULT {no} NOT NULL",
    },
    "sessions": {"by_passkey": "BOOLEAN DEFAULT {no} NOT NULL"},
    "tokens": {
        "parent_id": "{big}",
        "by_passkey": "BOOLEAN DEFAULT {no} NOT NULL",
    },
}
COLUMNS_OF_POSTGRESQL = {
    "changes": {"category_id": "BIGINT"},
    "project_search": {"live": "BOOLEAN NOT NULL DEFAULT true"},
}
INDEXES = {
    "ix_audit_entries_action_id": "audit_entries (action, id)",
    "ix_audit_entries_at_id": "audit_entries (at, id)",
    "ix_deliveries_endpoint_id_state": "deliveries (endpoint, id, state)",
    "ix_deliveries_event_id": "deliveries (event, id)",
    "ix_deliveries_project_id_id": "deliveries (project_id, id)",
    "ix_projects_logo": f"projects {WITH_LOGO}",
    "ix_projects_url_key": "projects (url_key)",
    "ix_tokens_parent_id": "tokens (parent_id)",
    "ix_upvotes_project_id_created_at_user_id": "upvotes (project_id, created_at, user_id)",
    "ix_users_last_seen_at_id": "users (last_seen_at, id)",
}
INDEXES_OF_POSTGRESQL = {
    "ix_project_search_sample": "project_search USING gin (document) WHERE live AND (project_id & 65535) < 4096",
    "ix_project_search_title": "project_search USING gin (ts_filter(document, '{a}'))",
    "ix_project_search_brief": "project_search USING gin (ts_filter(document, '{a,b}'))",
}
OLD_INDEX = "ix_upvotes_project_id"

TAGS_COUNTED = (
    "SELECT t.tag, count(*) FROM project_tags t JOIN projects p ON p.id = t.project_id WHERE p.status = 'live' "
    "GROUP BY t.tag"
)
ADD_TAGS = (
    "INSERT INTO tag_counts AS c (tag, live_projects) "
    "SELECT * FROM unnest(CAST(:keys AS text[]), CAST(:sizes AS bigint[])) AS counted (tag, n) "
    "ON CONFLICT (tag) DO UPDATE SET live_projects = c.live_projects + excluded.live_projects"
)
SUBMITTED = (
    "SELECT u.id, coalesce(n.size, 0) FROM users u "
    "LEFT JOIN (SELECT owner_id, count(*) AS size FROM projects GROUP BY owner_id) n ON n.owner_id = u.id"
)
ADD_SUBMITTED = (
    "INSERT INTO user_submissions AS s SELECT * FROM unnest(CAST(:keys AS bigint[]), CAST(:sizes AS bigint[])) "
    "ON CONFLICT (user_id) DO UPDATE SET submissions = s.submissions + excluded.submissions"
)
SUBMITTED_BY = "FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE"
SUBMITTED_BY_NAME = "fk_user_submissions_user_id_users"
USED = (
    "SELECT user_id, last_seen_at AS at FROM sessions "
    "UNION ALL SELECT user_id, last_used_at FROM tokens WHERE last_used_at IS NOT NULL"
)
SEEN = (
    "UPDATE users SET last_seen_at = seen.at "
    f"FROM (SELECT user_id, max(at) AS at FROM ({USED}) AS used {{}} GROUP BY user_id) AS seen "
    "WHERE users.id = seen.user_id AND users.last_seen_at < seen.at"
)
BATCH = sa.text("SELECT max(id) FROM (SELECT id FROM users WHERE id > :after ORDER BY id LIMIT :most) AS batch")
# The projects are locked before their entries, as by every edit and decision, so that none changes its state meanwhile.
NOT_LIVE = sa.text(
    "SELECT id FROM projects WHERE id > :after AND status <> 'live' ORDER BY id LIMIT :most FOR NO KEY UPDATE"
)
HIDE = sa.text("UPDATE project_search SET live = false WHERE project_id = ANY(:ids) AND live")

LISTED = {"listed_at": TIME}
COUNTED = sa.text(
    "SELECT p.id, p.listed_at, p.upvotes, (SELECT count(*) FROM upvotes v JOIN users u ON u.id = v.user_id "
    "WHERE v.project_id = p.id AND u.status = 'active' AND NOT EXISTS (SELECT 1 FROM vote_discounts d "
    "WHERE d.user_id = v.user_id AND d.project_id = v.project_id)) AS n FROM projects p WHERE p.id IN :ids"
).columns(**LISTED)
CAST = sa.text(
    "SELECT p.id, p.listed_at, p.upvotes, (SELECT count(*) FROM upvotes v WHERE v.project_id = p.id) AS n "
    "FROM projects p WHERE p.id IN :ids"
).columns(**LISTED)
SET = sa.text("UPDATE projects SET upvotes = :n, hot = :hot WHERE id = :id")
VOTED = sa.text(
    "SELECT project_id FROM upvotes WHERE user_id = :voter AND project_id > :after ORDER BY project_id LIMIT :most"
)
LOCK = sa.text("SELECT id FROM projects WHERE id IN :ids ORDER BY id FOR NO KEY UPDATE")
NOT_COUNTED = sa.text(
    "SELECT v.project_id FROM upvotes v JOIN users u ON u.id = v.user_id WHERE u.status <> 'active' "
    "UNION SELECT project_id FROM vote_discounts ORDER BY project_id"
)


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name == "sqlite":
        upgrade_sqlite(bind)
        return
    with op.get_context().autocommit_block():
        upgrade_postgresql(bind)


def upgrade_sqlite(bind: sa.Connection) -> None:
    """Change the tables, fill the counters, and then have triggers count."""
    for make in TABLES.values():
        make()
    op.execute("CREATE TABLE project_search_removals (projects bigint NOT NULL)")
    op.execute("INSERT INTO project_search_removals VALUES (0)")
    for table, columns in COLUMNS.items():
        add_columns(table, columns)
    op.execute(f"ALTER TABLE projects ADD COLUMN logo VARCHAR(64) {LOGO_KEY} REFERENCES logos (digest)")
    rebuild_on_sqlite(bind, "tokens", having=PARENT_KEY)
    for name, what in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")
    op.drop_index(OLD_INDEX, "upvotes")
    make_tag_counts(sa.CheckConstraint("live_projects >= 0", name=op.f("ck_tag_counts_live_projects")))
    op.execute(f"INSERT INTO tag_counts (tag, live_projects) {TAGS_COUNTED}")
    make_submissions(
        sa.CheckConstraint("submissions >= 0", name=op.f("ck_user_submissions_submissions")),
        sa.ForeignKeyConstraint(["user_id"], ["users.id"], SUBMITTED_BY_NAME, ondelete="CASCADE"),
    )
    op.execute(f"INSERT INTO user_submissions {SUBMITTED}")
    op.execute(SEEN.format(""))
    sql_files.install(bind, "log", "revisions", "search_removals", "submissions", "tag_counts")
    correct(bind, COUNTED, bind.scalars(NOT_COUNTED))


def upgrade_postgresql(bind: sa.Connection) -> None:
    """Change the tables, build the indexes, and then fill what is derived, while others read and write."""
    change_tables(bind)
    build_indexes(bind, INDEXES | INDEXES_OF_POSTGRESQL)
    op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {OLD_INDEX}")
    for file in ("log", "revisions", "search_removals", "search"):
        in_short_transaction(bind, lambda file=file: sql_files.install(bind, file))
    fill_counters(bind, lambda: count_tags(bind), f'{TAGS_COUNTED} ORDER BY t.tag COLLATE "C"', ADD_TAGS)
    add_constraint(bind, "tag_counts", "ck_tag_counts_live_projects", "CHECK (live_projects >= 0)")
    fill_counters(bind, lambda: count_submissions(bind), f"{SUBMITTED} ORDER BY u.id", ADD_SUBMITTED)
    add_constraint(bind, "user_submissions", "ck_user_submissions_submissions", "CHECK (submissions >= 0)")
    add_constraint(bind, "user_submissions", SUBMITTED_BY_NAME, SUBMITTED_BY)
    op.execute("ANALYZE user_submissions")
    write_last_use(bind)
    in_short_transaction(bind, lambda: count_votes_that_count(bind))
    count_again(bind)
    hide_all(bind)
    in_short_transaction(bind, lambda: note_every_change(bind))


def change_tables(bind: sa.Connection) -> None:
    """Make the tables and columns on PostgreSQL that an interrupted run has not made."""
    for table, make in TABLES.items():
        in_short_transaction(bind, lambda table=table, make=make: sa.inspect(bind).has_table(table) or make())
    in_short_transaction(bind, make_removals)
    for table, columns in (COLUMNS | COLUMNS_OF_POSTGRESQL).items():
        in_short_transaction(bind, lambda table=table, columns=columns: add_columns(table, columns, "IF NOT EXISTS"))
    in_short_transaction(bind, add_logo)
    in_short_transaction(bind, add_parent_key)
    for table, key in (("projects", LOGO_KEY), ("tokens", PARENT_KEY.partition(" FOREIGN")[0])):
        op.execute(f"ALTER TABLE {table} VALIDATE {key}")


def add_columns(table: str, columns: dict[str, str], if_not_exists: str = "") -> None:
    kinds = KINDS[op.get_bind().dialect.name]
    for name, kind in columns.items():
        op.execute(f"ALTER TABLE {table} ADD COLUMN {if_not_exists} {name} {kind.format(**kinds)}")


def add_logo() -> None:
    """Add the column on PostgreSQL with its key, which looks at no row yet."""
    op.execute("ALTER TABLE projects ADD COLUMN IF NOT EXISTS logo VARCHAR(64)")
    op.execute(f"ALTER TABLE projects DROP {LOGO_KEY.replace(' ', ' IF EXISTS ')}")
    op.execute(f"ALTER TABLE projects ADD {LOGO_KEY} FOREIGN KEY (logo) REFERENCES logos (digest) NOT VALID")


def add_parent_key() -> None:
    """Add the key of the parents of tokens on PostgreSQL, which looks at no row yet."""
    name = PARENT_KEY.partition(" FOREIGN")[0]
    op.execute(f"ALTER TABLE tokens DROP {name.replace(' ', ' IF EXISTS ')}")
    op.execute(f"ALTER TABLE tokens ADD {PARENT_KEY} NOT VALID")


def make_removals() -> None:
    op.execute("CREATE TABLE IF NOT EXISTS project_search_removals (projects bigint NOT NULL)")
    op.execute("INSERT INTO project_search_removals SELECT 0 WHERE NOT EXISTS (SELECT FROM project_search_removals)")


def count_tags(bind: sa.Connection) -> None:
    """Have triggers count tags on PostgreSQL from now on, in an empty table."""
    op.execute("LOCK TABLE projects IN SHARE ROW EXCLUSIVE MODE")
    op.execute("DROP TABLE IF EXISTS tag_counts")
    make_tag_counts()
    sql_files.install(bind, "tag_counts")


def count_submissions(bind: sa.Connection) -> None:
    """Have triggers count submissions on PostgreSQL from now on, in an empty table."""
    op.execute("LOCK TABLE users, projects IN SHARE ROW EXCLUSIVE MODE")
    op.execute("DROP TABLE IF EXISTS user_submissions")
    make_submissions()
    sql_files.install(bind, "submissions")


def write_last_use(bind: sa.Connection) -> None:
    """Write when each user was last seen, some at a time."""
    seen = sa.text(SEEN.format("WHERE user_id > :after AND user_id <= :last"))
    after, portions = 0, Portions("users' last use", bind.scalar(sa.text("SELECT count(*) FROM users")))
    while last := bind.scalar(BATCH, {"after": after, "most": portions.size}):
        batch = {"after": after, "last": last}
        in_portion(bind, portions, portions.size, lambda batch=batch: bind.execute(seen, batch))
        after = last


def count_votes_that_count(bind: sa.Connection) -> None:
    """Have the database follow suspensions, and note whose votes are in the counters and should not be."""
    op.execute("LOCK TABLE users IN SHARE ROW EXCLUSIVE MODE")
    op.execute("CREATE TABLE IF NOT EXISTS voters_to_recount (user_id bigint PRIMARY KEY)")
    op.execute("INSERT INTO voters_to_recount SELECT id FROM users WHERE status <> 'active' ON CONFLICT DO NOTHING")
    sql_files.install(bind, "votes", "suspensions")


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
        wrong = [{"id": p.id, "n": p.n, "hot": rank(p)} for p in found if p.n != p.upvotes]
        if wrong:
            bind.execute(SET, wrong)


def rank(project: Any) -> float:
    at = project.listed_at if project.listed_at.tzinfo else project.listed_at.replace(tzinfo=UTC)
    return log10(project.n + 1) + at.timestamp() / WEEK


def hide_all(bind: sa.Connection) -> None:
    """Say of the search entries of projects that are not live that they are not, some at a time."""
    after, portions = 0, Portions("projects that are not live")
    while found := in_portion(
        bind, portions, portions.size, lambda after=after: hide_after(bind, after, portions.size)
    ):
        after = found[-1]


def hide_after(bind: sa.Connection, after: int, most: int) -> list[int]:
    """Say of some of the projects behind an id that they are not live; their ids."""
    ids = list(bind.scalars(NOT_LIVE, {"after": after, "most": most}))
    bind.execute(HIDE, {"ids": ids})
    return ids


def note_every_change(bind: sa.Connection) -> None:
    """Have every change noted on PostgreSQL from now on, in place of the triggers of before."""
    # The locks of all tables first, in one order, before anything waits for one of them while it holds another.
    op.execute(
        "LOCK TABLE projects, categories, users, project_tags, project_search, standings, tag_counts "
        "IN ACCESS EXCLUSIVE MODE"
    )
    op.execute("DROP FUNCTION IF EXISTS note_change() CASCADE")
    sql_files.install(bind, "standings", "notes")


def make_tag_counts(*constraints: sa.Constraint) -> None:
    op.create_table(
        "tag_counts",
        sa.Column("tag", TAG, nullable=False),
        sa.Column("live_projects", BIG_ID, nullable=False),
        *constraints,
        sa.PrimaryKeyConstraint("tag", name=op.f("pk_tag_counts")),
    )
    op.create_index("ix_tag_counts_live_projects_tag", "tag_counts", [sa.text("live_projects DESC"), "tag"])


def make_submissions(*constraints: sa.Constraint) -> None:
    op.create_table(
        "user_submissions",
        sa.Column("user_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("submissions", BIG_ID, nullable=False),
        *constraints,
        sa.PrimaryKeyConstraint("user_id", name="pk_user_submissions"),
    )
    op.create_index("ix_user_submissions_submissions_user_id", "user_submissions", ["submissions", "user_id"])


def make_audit_retention() -> None:
    op.create_table(
        "audit_retention",
        sa.Column("before", TIME, nullable=False),
        sa.PrimaryKeyConstraint("before", name=op.f("pk_audit_retention")),
    )


def make_mail_links() -> None:
    op.create_table(
        "mail_links",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("user_id", BIG_ID),
        sa.Column("purpose", sa.String(16), nullable=False),
        sa.Column("email", sa.String(254), nullable=False),
        sa.Column("nonce", sa.String(64), nullable=False),
        sa.Column("token_hash", sa.String(64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.CheckConstraint(f"purpose IN ({PURPOSES})", name=op.f("ck_mail_links_purpose")),
        of_user("mail_links"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mail_links")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_mail_links_token_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_mail_links_user_id"), "mail_links", ["user_id"])
    op.create_index(op.f("ix_mail_links_expires_at"), "mail_links", ["expires_at"])


def make_identities() -> None:
    op.create_table(
        "identities",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("user_id", BIG_ID, nullable=False),
        sa.Column("issuer", sa.String(500), nullable=False),
        sa.Column("subject", sa.String(255), nullable=False),
        sa.Column("email", sa.String(254)),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME, nullable=False),
        of_user("identities"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_identities")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_identities_issuer_subject")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_identities_user_id"), "identities", ["user_id"])


def make_sign_in_attempts() -> None:
    op.create_table(
        "sign_in_attempts",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("state_hash", sa.String(64), nullable=False),
        sa.Column("browser_hash", sa.String(64), nullable=False),
        sa.Column("provider", sa.String(16), nullable=False),
        sa.Column("next_path", sa.String(1000), nullable=False),
        sa.Column("user_id", BIG_ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        of_user("sign_in_attempts"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_attempts")),
        sa.UniqueConstraint("state_hash", name=op.f("uq_sign_in_attempts_state_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_sign_in_attempts_user_id"), "sign_in_attempts", ["user_id"])
    op.create_index(op.f("ix_sign_in_attempts_expires_at"), "sign_in_attempts", ["expires_at"])


def make_passkeys() -> None:
    op.create_table(
        "passkeys",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("user_id", BIG_ID, nullable=False),
        sa.Column("credential_id", sa.String(1400), nullable=False),
        sa.Column("public_key", sa.String(2000), nullable=False),
        sa.Column("sign_count", BIG_ID, nullable=False),
        sa.Column("name", sa.String(100), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("last_used_at", TIME),
        of_user("passkeys"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkeys")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_passkeys_credential_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_passkeys_user_id"), "passkeys", ["user_id"])


def make_passkey_challenges() -> None:
    op.create_table(
        "passkey_challenges",
        sa.Column("id", BIG_ID, nullable=False),
        sa.Column("challenge_hash", sa.String(64), nullable=False),
        sa.Column("session_id", BIG_ID),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("expires_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(
            ["session_id"], ["sessions.id"], name=op.f("fk_passkey_challenges_session_id_sessions"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkey_challenges")),
        sa.UniqueConstraint("challenge_hash", name=op.f("uq_passkey_challenges_challenge_hash")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_passkey_challenges_session_id"), "passkey_challenges", ["session_id"])
    op.create_index(op.f("ix_passkey_challenges_expires_at"), "passkey_challenges", ["expires_at"])


def make_logos() -> None:
    op.create_table(
        "logos",
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("small_digest", sa.String(64), nullable=False),
        sa.Column("large", sa.LargeBinary(), nullable=False),
        sa.Column("small", sa.LargeBinary(), nullable=False),
        sa.Column("stored_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_logos")),
        sa.UniqueConstraint("small_digest", name=op.f("uq_logos_small_digest")),
    )
    op.create_index(op.f("ix_logos_stored_at"), "logos", ["stored_at"])


def make_revisions() -> None:
    op.create_table(
        "revisions",
        sa.Column("project_id", BIG_ID, nullable=False, autoincrement=False),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("category", sa.String(50)),
        sa.Column("submitted_at", TIME),
        sa.Column("reason", sa.String(1000)),
        sa.Column("logo", sa.String(64)),
        sa.CheckConstraint("submitted_at IS NULL OR reason IS NULL", name=op.f("ck_revisions_reason")),
        sa.CheckConstraint("submitted_at IS NOT NULL OR category IS NULL", name=op.f("ck_revisions_category")),
        of_project("revisions"),
        sa.ForeignKeyConstraint(
            ["category"],
            ["categories.slug"],
            name=op.f("fk_revisions_category_categories"),
            onupdate="CASCADE",
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(["logo"], ["logos.digest"], name=op.f("fk_revisions_logo_logos")),
        sa.PrimaryKeyConstraint("project_id", name=op.f("pk_revisions")),
    )
    waiting = sa.text("submitted_at IS NOT NULL")
    where = {"postgresql_where": waiting, "sqlite_where": waiting}
    op.create_index("ix_revisions_submitted_at_project_id", "revisions", ["submitted_at", "project_id"], **where)
    op.create_index(op.f("ix_revisions_category"), "revisions", ["category"])
    op.execute(f"CREATE INDEX ix_revisions_logo ON revisions {WITH_LOGO}")


def make_vote_discounts() -> None:
    """It has no key to `users`, whose lock would be taken after a project's."""
    op.create_table(
        "vote_discounts",
        sa.Column("user_id", BIG_ID, autoincrement=False, nullable=False),
        sa.Column("project_id", BIG_ID, autoincrement=False, nullable=False),
        of_project("vote_discounts"),
        sa.PrimaryKeyConstraint("user_id", "project_id", name="pk_vote_discounts"),
    )
    op.create_index("ix_vote_discounts_project_id", "vote_discounts", ["project_id"])


def of_user(table: str) -> sa.ForeignKeyConstraint:
    """The reference to a user, with whose row these would go."""
    name = op.f(f"fk_{table}_user_id_users")
    return sa.ForeignKeyConstraint(["user_id"], ["users.id"], name=name, ondelete="CASCADE")


def of_project(table: str) -> sa.ForeignKeyConstraint:
    """The reference to a project, with whose row these go."""
    name = op.f(f"fk_{table}_project_id_projects")
    return sa.ForeignKeyConstraint(["project_id"], ["projects.id"], name=name, ondelete="CASCADE")


TABLES = {
    "audit_retention": make_audit_retention,
    "mail_links": make_mail_links,
    "identities": make_identities,
    "sign_in_attempts": make_sign_in_attempts,
    "passkeys": make_passkeys,
    "passkey_challenges": make_passkey_challenges,
    "logos": make_logos,
    "revisions": make_revisions,
    "vote_discounts": make_vote_discounts,
}


def downgrade() -> None:
    """Go back to release 0.1.0, and lose what it has no place for.

    Search entries and keys of addresses stay as they are: the commands of that release replace them.
    """
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        op.execute("LOCK TABLE users, projects, upvotes, categories, standings IN ACCESS EXCLUSIVE MODE")
    drop_triggers(bind)
    install_those_of_0_1_0(bind)
    correct(bind, CAST, bind.scalars(NOT_COUNTED))
    for name in (*INDEXES, *INDEXES_OF_POSTGRESQL):
        op.execute(f"DROP INDEX IF EXISTS {name}")
    op.create_index(OLD_INDEX, "upvotes", ["project_id"])
    if bind.dialect.name == "postgresql":
        drop_columns(COLUMNS | COLUMNS_OF_POSTGRESQL | {"projects": ("logo",)})
    else:
        rebuild_on_sqlite(bind, "projects", without=f"{LOGO_KEY} FOREIGN KEY(logo) REFERENCES logos (digest)")
        rebuild_on_sqlite(bind, "tokens", without=PARENT_KEY)
        drop_columns(COLUMNS | {"projects": ("logo",)})
        op.execute("DROP TABLE IF EXISTS project_search_brief")
    for table in ("project_search_removals", "tag_counts", "user_submissions", *reversed(TABLES)):
        op.drop_table(table)


def drop_columns(columns: dict[str, Iterable[str]]) -> None:
    for table, names in columns.items():
        for name in names:
            op.execute(f"ALTER TABLE {table} DROP COLUMN {name}")


def drop_triggers(bind: sa.Connection) -> None:
    """Drop all functions with their triggers."""
    if bind.dialect.name == "postgresql":
        ours = "SELECT oid::regprocedure::text FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        for function in list(bind.scalars(sa.text(ours))):
            op.execute(f"DROP FUNCTION IF EXISTS {function} CASCADE")
    else:
        for name in list(bind.scalars(sa.text("SELECT name FROM sqlite_master WHERE type = 'trigger'"))):
            op.execute(f"DROP TRIGGER {name}")


def install_those_of_0_1_0(bind: sa.Connection) -> None:
    """Create the functions and triggers again whose text is in the migrations of that release."""
    scripts = op.get_context().environment_context.script
    old = {number: scripts.get_revision(f"{number:04}").module for number in range(2, 9)}
    if bind.dialect.name == "sqlite":
        for number in (2, 6, 7):
            for name, when in old[number].SQLITE.items():
                op.execute(f"CREATE TRIGGER {name} {when}")
        return
    for function in (old[3].VOTE, old[4].FUNCTION, old[5].VOTES):
        op.execute(function)
    for number, end in ((2, ""), (6, "RETURN NULL;"), (7, "RETURN NULL;")):
        for name, body in old[number].POSTGRESQL_FUNCTIONS.items():
            op.execute(f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} {end} END $$")
        for name, when in old[number].POSTGRESQL_TRIGGERS.items():
            op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION {name}()")
    for name, when in (old[4].TRIGGERS | {"projects_votes_noted": old[8].NOTED}).items():
        op.execute(f"CREATE TRIGGER {name} {when} EXECUTE FUNCTION note_change()")
        op.execute(f"ALTER TABLE {when.partition(' ON ')[2].split()[0]} ENABLE ALWAYS TRIGGER {name}")
