"""The keys of addresses, by the rule that compares escapes, the order of the query and repositories too.

The key of a project, and of the log's entries about its address, is computed again where the rule gives another one,
which is so for few. Where two projects of one owner have become equal, the later one gets a key apart, so that nothing
is lost. The rule is the service's own and not a copy: a later rule comes with a migration that computes all keys again,
so they are right at the end whichever rule this one meets.

While this runs, and until the last process of the previous version ends, that version writes keys of its own:
`flask recount` finds and replaces them. The keys stay as they are when the migration is undone: for the previous version
they equal no address, so it would take such an address a second time, and changes nothing else.

The log stays append-only: its triggers allow a change of `url_key`, which is derived, and of nothing else.
"""

from alembic import op
from sqlalchemy import Connection, text

from directory.db.schema_changes import in_short_transaction
from directory.services.links import key_apart, url_key

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None

AT_ONCE = 500
KEPT = """
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM audit_retention WHERE OLD.at < before) THEN
            RETURN OLD;
        END IF;
    END IF;
"""
KEY_ALONE = """
    IF TG_OP = 'UPDATE' THEN
        IF to_jsonb(NEW) - 'url_key' = to_jsonb(OLD) - 'url_key' THEN
            RETURN NEW;
        END IF;
    END IF;
"""
REFUSE = "RAISE EXCEPTION 'the log is append-only';"
LOGGED = (
    "id", "action", "at", "actor_id", "project_id", "user_id", "from_state", "to_state", "reason", "waited_seconds",
    "project_title", "changes",
)  # fmt: skip
SQLITE_TRIGGER = (
    "CREATE TRIGGER audit_entries_unchanged BEFORE UPDATE {} ON audit_entries "
    "BEGIN SELECT RAISE(ABORT, 'the log is append-only'); END"
)
SOME = text("SELECT id, owner_id, url, url_key FROM projects WHERE id > :last AND id <= :highest ORDER BY id LIMIT :most")
HIGHEST = text("SELECT coalesce(max(id), 0) FROM projects")
TAKEN = text("SELECT id FROM projects WHERE owner_id = :owner_id AND url_key = :key AND id <> :id")
# Only where the address is still the one that was read, so that an edit meanwhile keeps its own key.
PROJECT = text("UPDATE projects SET url_key = :key WHERE id = :id AND url = :url AND url_key = :old")
LOG = text("UPDATE audit_entries SET url_key = :key WHERE url_key = :old")


def upgrade() -> None:
    bind = op.get_bind()
    if bind.dialect.name != "postgresql":
        replace_trigger(bind, KEY_ALONE, f"OF {', '.join(LOGGED)}")
        rewrite(bind)
        return
    with op.get_context().autocommit_block():
        in_short_transaction(bind, lambda: replace_trigger(bind, KEY_ALONE, ""))
        rewrite(bind)


def replace_trigger(bind: Connection, postgresql: str, sqlite: str) -> None:
    """Let the triggers of the log allow what the conditions say. It may be done again."""
    if bind.dialect.name == "postgresql":
        bind.exec_driver_sql(
            "CREATE OR REPLACE FUNCTION audit_entries_kept() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN {KEPT} {postgresql} {REFUSE} END $$"
        )
    else:
        bind.exec_driver_sql("DROP TRIGGER audit_entries_unchanged")
        bind.exec_driver_sql(SQLITE_TRIGGER.format(sqlite))


def rewrite(bind: Connection) -> None:
    """Compute the keys of all projects again, a portion in each transaction. It may be done again.

    Those that are added meanwhile are left to `flask recount`: they might come faster than this goes on.
    """
    last, highest = 0, bind.execute(HIGHEST).scalar_one()
    while rows := bind.execute(SOME, {"last": last, "highest": highest, "most": AT_ONCE}).all():
        last = rows[-1].id
        changed = [row for row in rows if key_of(row) not in (None, row.url_key)]
        if not changed:
            continue
        if bind.dialect.name == "postgresql":
            in_short_transaction(bind, lambda changed=changed: write(bind, changed))
        else:
            write(bind, changed)


def key_of(row) -> str | None:
    """Return the key of a project by the rule; None for text that no rule takes for an address."""
    try:
        keys = url_key(row.url), key_apart(row.url, row.id)
    except ValueError:
        return None
    return row.url_key if row.url_key in keys else keys[0]


def write(bind: Connection, changed) -> None:
    """Give projects, in the order of their ids, and the log's entries their new keys."""
    for row in changed:
        key = key_of(row)
        if bind.execute(TAKEN, {"owner_id": row.owner_id, "key": key, "id": row.id}).first():
            key = key_apart(row.url, row.id)
        bind.execute(PROJECT, {"key": key, "id": row.id, "url": row.url, "old": row.url_key})
        bind.execute(LOG, {"key": url_key(row.url), "old": row.url_key})


def downgrade() -> None:
    replace_trigger(op.get_bind(), "", "")
