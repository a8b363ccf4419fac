"""What came after release 0.1.0: revisions, reviewers and threads, accounts, pictures, rules, votes that count, days.

It takes the place of 0009 to 0056, which no release had. A database at 0056 is there; migrations/env.py says what to do
with one that is between the two.

On PostgreSQL the version before reads and writes meanwhile: new columns have a constant default or none, so that no row
is written; indexes are built while others write; counters are filled from the moment at which triggers begin to count;
rows are written in portions. Every step can be run again. On SQLite a migration is one transaction.
"""

import re
from collections.abc import Iterable
from datetime import UTC
from functools import partial
from math import log10
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from alembic import op

from directory.db import first_rows, sql_files
from directory.db.portions import AT_ONCE, Portions
from directory.db.rewriting import rewrite_keys, rewrite_rule_keys, rewrite_words
from directory.db.schema_changes import (
    add_constraint,
    build_indexes,
    fill_counters,
    in_portion,
    in_short_transaction,
    rebuild_on_sqlite,
)
from directory.services.catalog import search_index
from directory.services.text.equal_addresses import repository_key, url_keys
from directory.services.text.keys import keys_of

revision = "0056"
down_revision = "0008"
branch_labels = None
depends_on = None

WEEK = 7 * 24 * 60 * 60  # as in directory/services/catalog/orders.py
LOGO_KEY = "CONSTRAINT fk_projects_logo_logos"
PARENT_KEY = "CONSTRAINT fk_tokens_parent_id_tokens FOREIGN KEY(parent_id) REFERENCES tokens (id) ON DELETE CASCADE"
# Triggers take its place: two projects of one website are two if they have different repositories.
UNIQUE = "uq_projects_owner_id_url_key"
UNIQUE_RULE = f"CONSTRAINT {UNIQUE} UNIQUE (owner_id, url_key)"

# The statements of each new table, by its name; those of the counters are below.
_FILE = Path(__file__).with_name("0056_tables.sql").read_text(encoding="utf-8")
TABLES = {part.split()[2]: part for part in _FILE.rstrip().split("\n\n") if part.startswith("CREATE")}
FIRST_ROWS = {"rules": first_rows.insert_rules, "saved_replies": first_rows.insert_replies}
# In the order of bytes on both databases: the beginnings of tags are ranges of it, and equal counts are listed in it.
COUNTERS = {
    "day_counts": (
        "kind VARCHAR(40) NOT NULL, day DATE NOT NULL, number BIGINT NOT NULL",
        {},
        "ix_day_counts_kind_day ON day_counts (kind, day)",
    ),
    "tag_counts": (
        'tag VARCHAR(32) COLLATE "C" CONSTRAINT pk_tag_counts PRIMARY KEY NOT NULL, live_projects BIGINT NOT NULL',
        {"ck_tag_counts_live_projects": "CHECK (live_projects >= 0)"},
        "ix_tag_counts_live_projects_tag ON tag_counts (live_projects DESC, tag)",
    ),
    "user_submissions": (
        "user_id BIGINT CONSTRAINT pk_user_submissions PRIMARY KEY NOT NULL, submissions BIGINT NOT NULL",
        {
            "ck_user_submissions_submissions": "CHECK (submissions >= 0)",
            "fk_user_submissions_user_id_users": "FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE",
        },
        "ix_user_submissions_submissions_user_id ON user_submissions (submissions, user_id)",
    ),
}
# The words of PostgreSQL, and those of SQLite in their place.
SQLITE = {
    r"BIGSERIAL (CONSTRAINT \w+ PRIMARY KEY)": r"INTEGER NOT NULL \1 AUTOINCREMENT", "BIGINT": "INTEGER", "JSONB": "JSON",
    "BYTEA": "BLOB", "TIMESTAMP WITH TIME ZONE": "DATETIME", ' COLLATE "C"': "", "DEFAULT false": "DEFAULT 0",
    "DEFAULT true": "DEFAULT 1",
}  # fmt: skip
INSTANT = "TIMESTAMP WITH TIME ZONE"
FALSE = "BOOLEAN DEFAULT false NOT NULL"
COLUMNS = {
    "audit_entries": {
        "project_title": "VARCHAR(100)", "changes": "JSON", "votes": "JSON", "category_id": "BIGINT", "rule_id": "BIGINT",
    },
    "projects": {
        "author": "VARCHAR(100)", "repository_key": "VARCHAR(64)", "pictures": "JSON", "owner_since": INSTANT,
        "closes_at": INSTANT, "change_requests": "INTEGER NOT NULL DEFAULT 0", "held_until": INSTANT,
        "measured_from": INSTANT, "domain": "VARCHAR(255)", "text_key": "VARCHAR(32)", "decided_at": INSTANT,
        "decided_by": "BIGINT", "appealed_at": INSTANT,
    },
    "sessions": {"by_passkey": FALSE, "by_provider": FALSE},
    "tokens": {"parent_id": "BIGINT", "by_passkey": FALSE},
    "users": {
        # Defaults in the database: the version before adds users without these columns.
        "last_seen_at": f"{INSTANT} NOT NULL DEFAULT '1970-01-01 00:00:00.000000'", "deleted_at": INSTANT,
        "email_verified_at": INSTANT, "notify": "BOOLEAN DEFAULT true NOT NULL", "may_rename": FALSE,
        "review_categories": "JSONB", "role_source": "VARCHAR(16) NOT NULL DEFAULT 'local'", "must_verify": FALSE,
        "feed_key_hash": "VARCHAR(64)", "is_reviewer": FALSE, "language": "VARCHAR(35)",
    },
}  # fmt: skip
COLUMNS_OF_POSTGRESQL = {
    "changes": {"category_id": "BIGINT"},
    "project_search": {"live": "BOOLEAN NOT NULL DEFAULT true"},
}
INDEXES = {
    "ix_audit_entries_action_at_waited_seconds_actor_id": "audit_entries (action, at, waited_seconds, actor_id)",
    "ix_audit_entries_action_id": "audit_entries (action, id)",
    "ix_audit_entries_at_id": "audit_entries (at, id)",
    "ix_deliveries_endpoint_id_state": "deliveries (endpoint, id, state)",
    "ix_deliveries_event_id": "deliveries (event, id)",
    "ix_deliveries_project_id_id": "deliveries (project_id, id)",
    "ix_projects_appealed_at": "projects (appealed_at) WHERE appealed_at IS NOT NULL",
    "ix_projects_closes_at": "projects (closes_at) WHERE closes_at IS NOT NULL",
    "ix_projects_domain_status": "projects (domain, status) WHERE domain IS NOT NULL",
    "ix_projects_held_until": "projects (held_until) WHERE held_until IS NOT NULL",
    "ix_projects_logo": "projects (logo) WHERE logo IS NOT NULL",
    "ix_projects_owner_id_url_key": "projects (owner_id, url_key)",
    "ix_projects_queue": (
        "projects (submitted_at, id) WHERE status = 'pending' AND owner_since IS NULL AND held_until IS NULL"
    ),
    "ix_projects_repository_key": "projects (repository_key) WHERE repository_key IS NOT NULL",
    "ix_projects_text_key": "projects (text_key) WHERE status = 'rejected' AND text_key IS NOT NULL",
    "ix_projects_url_key": "projects (url_key)",
    "ix_projects_with_owner": "projects (category_id) WHERE owner_since IS NOT NULL",
    "ix_tokens_parent_id": "tokens (parent_id)",
    "ix_upvotes_project_id_created_at_user_id": "upvotes (project_id, created_at, user_id)",
    "ix_users_feed_key_hash": "users (feed_key_hash)",
    "ix_users_last_seen_at_id": "users (last_seen_at, id)",
}
INDEXES_OF_POSTGRESQL = {
    "ix_project_search_sample": "project_search USING gin (document) WHERE live AND (project_id & 65535) < 4096",
    "ix_project_search_title": "project_search USING gin (ts_filter(document, '{a}'))",
    "ix_project_search_brief": "project_search USING gin (ts_filter(document, '{a,b}'))",
    "ix_users_reviewers": "users (status, id) WHERE is_reviewer",
}
INDEXES_OF_SQLITE = {"ix_users_reviewers": "users (status, id) WHERE is_reviewer = 1"}
OLD_INDEXES = {"ix_upvotes_project_id": "upvotes (project_id)", "ix_audit_entries_action_at": "audit_entries (action, at)"}
OF_COUNTER = {"user_submissions": "submissions"}  # the file with the triggers, where it has another name
WORDS = {"project_search": "title, brief, description", "project_search_brief": "title, brief"}

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
DAYS = {"upvotes": ("'upvotes'", "created_at"), "users": ("'signups'", "created_at"), "audit_entries": ("action", "at")}
DAY = {"postgresql": "CAST({} AT TIME ZONE 'UTC' AS date)", "sqlite": "date({})"}
# A kind and a day are one key there.
ADD_DAYS = (
    "INSERT INTO day_counts (kind, day, number) "
    "SELECT split_part(key, ' ', 1), CAST(split_part(key, ' ', 2) AS date), size "
    "FROM unnest(CAST(:keys AS text[]), CAST(:sizes AS bigint[])) AS counted (key, size)"
)
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
# The thread of a project that has a reason begins with that reason, as read.
REASONED = "rejection_reason <> ''"
COPY = (
    "INSERT INTO messages (project_id, at, sender, kind, text) "
    "SELECT id, updated_at, 'reviewers', CASE status WHEN 'rejected' THEN 'rejected' ELSE 'unpublished' END, "
    f"rejection_reason FROM projects WHERE {REASONED}"
)
LAST = (
    "(SELECT {} FROM audit_entries WHERE audit_entries.project_id = projects.id AND action = 'project.rejected' "
    "ORDER BY audit_entries.id DESC LIMIT 1)"
)
REJECTED = "status = 'rejected'"
DECIDED = f"UPDATE projects SET decided_at = {LAST.format('at')}, decided_by = {LAST.format('actor_id')} WHERE {REJECTED}"
NEXT = "SELECT id FROM projects WHERE id > :after AND {} ORDER BY id LIMIT :size"

LISTED = {"listed_at": sa.DateTime(timezone=True)}
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
    else:
        with op.get_context().autocommit_block():
            upgrade_postgresql(bind)
    rewrite_keys(lambda project: (*url_keys(project), repository_key(project.repository_url)))
    rewrite_words(search_index.columns, search_index.vector)
    rewrite_rule_keys(keys_of)


def upgrade_sqlite(bind: sa.Connection) -> None:
    """Change the tables, fill the counters, and then have triggers count."""
    drop_triggers(bind)
    for table in TABLES:
        make_table(bind, table)
    for table in COUNTERS:
        make_counter(bind, table)
    op.execute("CREATE TABLE project_search_removals (projects bigint NOT NULL)")
    op.execute("INSERT INTO project_search_removals VALUES (0)")
    for table, columns in COLUMNS.items():
        add_columns(bind, table, columns)
    op.execute(f"ALTER TABLE projects ADD COLUMN logo VARCHAR(64) {LOGO_KEY} REFERENCES logos (digest)")
    op.execute(f"DROP INDEX IF EXISTS {UNIQUE}")  # as a downgrade leaves it
    rebuild_on_sqlite(bind, "projects", without=UNIQUE_RULE)
    rebuild_on_sqlite(bind, "tokens", having=PARENT_KEY)
    for name, what in (INDEXES | INDEXES_OF_SQLITE).items():
        op.execute(f"CREATE INDEX {name} ON {what}")
    for name in OLD_INDEXES:
        op.execute(f"DROP INDEX {name}")
    for name, columns in WORDS.items():
        op.execute(f"DROP TABLE IF EXISTS {name}")
        op.execute(f"CREATE VIRTUAL TABLE {name} USING fts5({columns}, tokenize=\"ascii tokenchars '+#.='\")")
    op.execute(f"INSERT INTO tag_counts (tag, live_projects) {TAGS_COUNTED}")
    op.execute(f"INSERT INTO user_submissions {SUBMITTED}")
    op.execute(f"INSERT INTO day_counts (kind, day, number) {days_counted('sqlite')}")
    op.execute(SEEN.format(""))
    op.execute(f"{COPY} ORDER BY id")
    op.execute(DECIDED)
    sql_files.install(bind, *sql_files.names("sqlite", revision))
    correct(bind, COUNTED, bind.scalars(NOT_COUNTED))


def upgrade_postgresql(bind: sa.Connection) -> None:
    """Change the tables, build the indexes, and then fill what is derived, while others read and write."""
    change_tables(bind)
    build_indexes(bind, INDEXES | INDEXES_OF_POSTGRESQL)
    for name in OLD_INDEXES:
        op.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
    for file in ("log", "revisions", "search_removals", "search"):
        in_short_transaction(bind, partial(sql_files.install, bind, file))
    count(bind, "tag_counts", "projects", f'{TAGS_COUNTED} ORDER BY t.tag COLLATE "C"', ADD_TAGS)
    count(bind, "user_submissions", "users, projects", f"{SUBMITTED} ORDER BY u.id", ADD_SUBMITTED)
    days = f"SELECT kind || ' ' || day, size FROM ({days_counted('postgresql')}) AS days"
    count(bind, "day_counts", ", ".join(DAYS), days, ADD_DAYS)
    write_last_use(bind)
    in_short_transaction(bind, lambda: count_votes_that_count(bind))
    count_again(bind)
    hide_all(bind)
    in_short_transaction(bind, lambda: note_every_change(bind))
    in_short_transaction(bind, lambda: refuse_duplicates_by_triggers(bind))
    for file in sql_files.names("postgresql", revision):
        in_short_transaction(bind, partial(sql_files.install, bind, file))
    in_short_transaction(bind, lambda: op.execute("TRUNCATE messages"))  # of a run that was interrupted
    some_at_a_time(bind, "copying reasons", REASONED, f"{COPY} AND id = ANY(:ids) ORDER BY id")
    some_at_a_time(bind, "noting who decided", REJECTED, f"{DECIDED} AND id = ANY(:ids) AND decided_at IS NULL")


def change_tables(bind: sa.Connection) -> None:
    """Make the tables and columns on PostgreSQL that an interrupted run has not made."""
    for table in TABLES:
        in_short_transaction(bind, lambda table=table: sa.inspect(bind).has_table(table) or make_table(bind, table))
    in_short_transaction(bind, make_removals)
    for table, columns in (COLUMNS | COLUMNS_OF_POSTGRESQL).items():
        in_short_transaction(bind, partial(add_columns, bind, table, columns, "IF NOT EXISTS"))
    in_short_transaction(bind, add_logo)
    in_short_transaction(bind, add_parent_key)
    for table, key in (("projects", LOGO_KEY), ("tokens", PARENT_KEY.partition(" FOREIGN")[0])):
        op.execute(f"ALTER TABLE {table} VALIDATE {key}")


def make_table(bind: sa.Connection, table: str) -> None:
    """Make a table with its indexes and first rows."""
    for statement in in_words_of(bind, TABLES[table]).split(";\n"):
        op.execute(statement)
    if table in FIRST_ROWS:
        FIRST_ROWS[table](bind)


def make_counter(bind: sa.Connection, table: str) -> None:
    """Make an empty table of counters; on PostgreSQL without constraints, for they are filled from both ends there."""
    columns, constraints, index = COUNTERS[table]
    added = [f"CONSTRAINT {name} {rule}" for name, rule in constraints.items()] if bind.dialect.name == "sqlite" else []
    comma = ",\n    "
    op.execute(in_words_of(bind, f"CREATE TABLE {table} (\n    {comma.join([columns, *added])}\n)"))
    op.execute(f"CREATE INDEX {index}")


def add_columns(bind: sa.Connection, table: str, columns: dict[str, str], if_not_exists: str = "") -> None:
    for name, kind in columns.items():
        op.execute(in_words_of(bind, f"ALTER TABLE {table} ADD COLUMN {if_not_exists} {name} {kind}"))


def in_words_of(bind: sa.Connection, statement: str) -> str:
    """The statement with the names of types of the database."""
    for word, of_sqlite in SQLITE.items() if bind.dialect.name == "sqlite" else ():
        statement = re.sub(word, of_sqlite, statement)
    return statement


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


def count(bind: sa.Connection, table: str, locked: str, base: str, merge: str) -> None:
    """Have triggers count on PostgreSQL from now on, and add what was there before."""

    def begin() -> None:
        op.execute(f"LOCK TABLE {locked} IN SHARE ROW EXCLUSIVE MODE")
        op.execute(f"DROP TABLE IF EXISTS {table}")
        make_counter(bind, table)
        sql_files.install(bind, OF_COUNTER.get(table, table))

    fill_counters(bind, begin, base, merge)
    for name, rule in COUNTERS[table][1].items():
        add_constraint(bind, table, name, rule)
    op.execute(f"ANALYZE {table}")


def days_counted(dialect: str) -> str:
    """The query for the kinds, the days and their numbers; of votes those until the day before yesterday."""
    until = {"postgresql": "CAST(now() AT TIME ZONE 'UTC' AS date) - 2", "sqlite": "date('now', '-2 days')"}[dialect]
    parts = [
        f"SELECT {kind} AS kind, {DAY[dialect].format(at)} AS day, count(*) AS size FROM {table} GROUP BY 1, 2"
        for table, (kind, at) in DAYS.items()
    ]
    days = f"SELECT kind, day, size FROM ({' UNION ALL '.join(parts)}) AS days"
    return f"{days} WHERE kind <> 'upvotes' OR day <= {until} UNION ALL SELECT 'until', {until}, 0"


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


def refuse_duplicates_by_triggers(bind: sa.Connection) -> None:
    sql_files.install(bind, "duplicates")
    op.execute(f"ALTER TABLE projects DROP CONSTRAINT IF EXISTS {UNIQUE}")


def some_at_a_time(bind: sa.Connection, step: str, which: str, statement: str) -> None:
    """Run a statement on PostgreSQL for portions of the projects, in the order of their ids, as locks are taken."""
    portions, after, work = Portions(step), 0, sa.text(statement)
    while ids := list(bind.scalars(sa.text(NEXT.format(which)), {"after": after, "size": portions.size})):
        these = work.bindparams(sa.bindparam("ids", ids, sa.ARRAY(sa.BigInteger)))
        in_portion(bind, portions, len(ids), lambda these=these: bind.execute(these))
        after = ids[-1]


def downgrade() -> None:
    """Go back to release 0.1.0, and lose what it has no place for.

    Search entries and keys of addresses stay as they are: the commands of that release replace them. Of two projects
    that it takes for duplicates the later one gets a key apart, as its `flask recount` gives it.
    """
    bind = op.get_bind()
    if bind.dialect.name == "postgresql":
        op.execute("LOCK TABLE users, projects, upvotes, categories, standings IN ACCESS EXCLUSIVE MODE")
    drop_triggers(bind)
    op.execute(
        "UPDATE projects SET url_key = 'apart ' || id WHERE EXISTS (SELECT 1 FROM projects o "
        "WHERE o.owner_id = projects.owner_id AND o.url_key = projects.url_key AND o.id < projects.id)"
    )
    install_those_of_0_1_0(bind)
    correct(bind, CAST, bind.scalars(NOT_COUNTED))
    for name in (*INDEXES, *INDEXES_OF_POSTGRESQL):
        op.execute(f"DROP INDEX IF EXISTS {name}")
    for name, what in OLD_INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON {what}")
    columns = COLUMNS | {"projects": (*COLUMNS["projects"], "logo")}
    if bind.dialect.name == "postgresql":
        drop_columns(columns | COLUMNS_OF_POSTGRESQL)
        op.execute(f"ALTER TABLE projects ADD {UNIQUE_RULE}")
    else:
        rebuild_on_sqlite(bind, "projects", without=f"{LOGO_KEY} FOREIGN KEY(logo) REFERENCES logos (digest)")
        rebuild_on_sqlite(bind, "tokens", without=PARENT_KEY)
        drop_columns(columns)
        op.execute(f"CREATE UNIQUE INDEX {UNIQUE} ON projects (owner_id, url_key)")
        op.execute("DROP TABLE IF EXISTS project_search_brief")
    for table in ("project_search_removals", *COUNTERS, *reversed(TABLES)):
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
