"""Every change of what the public reads is noted, and a locked project delays only its own votes.

The numbers of a vote are noted where they end, at `standings`: a repair of that table is noted as well, and a vote
still runs two triggers. Notes are deleted seldom: a search for what to delete reads every note that an old transaction
keeps from being vacuumed.
"""

import sqlalchemy as sa
from alembic import op

from directory.db.schema_changes import in_short_transaction

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# `changes` has a row for each project whose votes changed, or a row without a project where anything may have changed.
# The latter makes every earlier row superfluous; one in a thousand also deletes them.
NOTE_VOTES = """
CREATE OR REPLACE FUNCTION note_votes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() >= 0.001 THEN
        INSERT INTO changes (project_id, low, high)
            VALUES (NEW.project_id, least(OLD.upvotes, NEW.upvotes), greatest(OLD.upvotes, NEW.upvotes));
    ELSE
        DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM changes c FOR UPDATE SKIP LOCKED));
        INSERT INTO changes DEFAULT VALUES;
    END IF;
    RETURN NULL;
END $$
"""
NOTE_ANYTHING = """
CREATE OR REPLACE FUNCTION note_anything() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.001 THEN
        DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM changes c FOR UPDATE SKIP LOCKED));
    END IF;
    INSERT INTO changes DEFAULT VALUES;
    RETURN NULL;
END $$
"""
# All columns of a project but its votes, the rank that follows from them, and the generated `listed_at`.
SAID = (
    "id, owner_id, category_id, title, slug, tagline, description, url, url_key, repository_url, logo_url, tags, "
    "status, rejection_reason, version, created_at, updated_at, submitted_at, published_at"
)
ANYTHING = "AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE{} ON {} FOR EACH STATEMENT"
NOTED = {
    "projects_noted": ANYTHING.format(f" OF {SAID}", "projects"),
    "categories_noted": ANYTHING.format("", "categories"),
    "users_noted": ANYTHING.format(" OF id, username, role, status, created_at", "users"),
    "project_tags_noted": ANYTHING.format("", "project_tags"),
    "project_search_noted": ANYTHING.format("", "project_search"),
    "standings_noted": ANYTHING.format(" OF project_id, status, category_id", "standings"),
}
VOTES_NOTED = "AFTER UPDATE OF upvotes, hot ON standings FOR EACH ROW"
# A standing that is missing is made again, for only its change is noted.
RANKED = """
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE standings SET {changes} WHERE project_id = NEW.id;
    IF NOT FOUND THEN
        INSERT INTO standings (project_id, status, category_id, upvotes, hot)
            VALUES (NEW.id, NEW.status, NEW.category_id, NEW.upvotes, NEW.hot);
    END IF;
    RETURN NULL;
END $$
"""
# One trigger for a vote and one for all else, so that a vote sets no column of `standings` besides its own.
RANKED_BY = {"projects_ranked_over": ("upvotes", "hot"), "projects_placed_over": ("status", "category_id")}

# For a vote alone: it gives up soon, so that the caller finds out whether the project is locked. The body is that of
# the function `vote`.
VOTE_SOON = """
CREATE OR REPLACE FUNCTION vote_soon(wanted bigint, voter bigint, wish text, cast_at timestamptz)
RETURNS TABLE (project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE SET lock_timeout = 200 AS $vote${}$vote$
"""
# The votes of which neither the project nor the voter is locked by another transaction. For the others `project_status`
# is null, and `now_upvoted` tells whether the project was free. Projects are locked first and in their order, as ever.
VOTES_IF_FREE = """
CREATE OR REPLACE FUNCTION votes_if_free(wanted bigint[], voters bigint[], wishes text[], cast_at timestamptz)
RETURNS TABLE (place bigint, project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE SET lock_timeout = 50 AS $$
DECLARE
    ballot record;
    free boolean;
BEGIN
    FOR ballot IN
        SELECT * FROM unnest(wanted, voters, wishes) WITH ORDINALITY AS given (project, voter, wish, n)
        ORDER BY project, n
    LOOP
        PERFORM 1 FROM projects p WHERE p.id = ballot.project FOR NO KEY UPDATE SKIP LOCKED;
        free := FOUND OR NOT EXISTS (SELECT 1 FROM projects p WHERE p.id = ballot.project);
        IF free THEN
            PERFORM 1 FROM users u WHERE u.id = ballot.voter FOR KEY SHARE SKIP LOCKED;
        END IF;
        IF free AND FOUND THEN
            RETURN QUERY SELECT ballot.n, v.* FROM vote(ballot.project, ballot.voter, ballot.wish, cast_at) v;
        ELSE
            RETURN QUERY SELECT ballot.n, NULL::text, NULL::bigint, free, NULL::bigint;
        END IF;
    END LOOP;
END $$
"""

# What the revisions 0004, 0007 and 0008 made, for the way back.
NOTE_CHANGE = """
CREATE FUNCTION note_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_LEVEL = 'ROW' AND random() >= 0.001 THEN
        INSERT INTO changes (project_id, low, high)
            VALUES (NEW.id, least(OLD.upvotes, NEW.upvotes), greatest(OLD.upvotes, NEW.upvotes));
    ELSE
        DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM changes c FOR UPDATE SKIP LOCKED));
        INSERT INTO changes DEFAULT VALUES;
    END IF;
    RETURN NULL;
END $$
"""
NOTED_BEFORE = {name: when for name, when in NOTED.items() if name != "standings_noted"} | {
    "projects_votes_noted": "AFTER UPDATE OF upvotes, hot ON projects FOR EACH ROW",
    "users_noted": "AFTER UPDATE OF username ON users FOR EACH STATEMENT",
}
RANKED_BEFORE = """
CREATE OR REPLACE FUNCTION projects_ranked_over() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE standings SET status = NEW.status, category_id = NEW.category_id, upvotes = NEW.upvotes, hot = NEW.hot
    WHERE project_id = NEW.id;
    RETURN NULL;
END $$
"""
RANKED_BEFORE_WHEN = "AFTER UPDATE OF status, category_id, upvotes, hot ON projects FOR EACH ROW"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        with op.get_context().autocommit_block():
            in_short_transaction(op.get_bind(), replace_triggers)


def replace_triggers() -> None:
    """Have every change noted from now on."""
    bind = op.get_bind()
    # The locks of all tables first, in one order, before anything waits for one of them with another in hand.
    op.execute(f"LOCK TABLE {', '.join(map(_table, NOTED.values()))} IN ACCESS EXCLUSIVE MODE")
    op.execute("DROP FUNCTION IF EXISTS note_change() CASCADE")
    op.execute(NOTE_VOTES)
    op.execute(NOTE_ANYTHING)
    for name, when in NOTED.items():
        note(name, when, "note_anything")
    note("standings_votes_noted", VOTES_NOTED, "note_votes")
    for name, columns in RANKED_BY.items():
        op.execute(RANKED.format(name=name, changes=", ".join(f"{column} = NEW.{column}" for column in columns)))
        note(name, f"AFTER UPDATE OF {', '.join(columns)} ON projects FOR EACH ROW", name)
    signature = "'vote(bigint, bigint, text, timestamptz)'::regprocedure"
    op.execute(VOTE_SOON.format(bind.scalar(sa.text(f"SELECT prosrc FROM pg_proc WHERE oid = {signature}"))))
    op.execute(VOTES_IF_FREE)


def note(name: str, when: str, function: str) -> None:
    """Have a trigger call a function; also for what a replication writes."""
    op.execute(f"CREATE OR REPLACE TRIGGER {name} {when} EXECUTE FUNCTION {function}()")
    op.execute(f"ALTER TABLE {_table(when)} ENABLE ALWAYS TRIGGER {name}")


def _table(when: str) -> str:
    return when.partition(" ON ")[2].split()[0]


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute(f"LOCK TABLE {', '.join(map(_table, NOTED.values()))} IN ACCESS EXCLUSIVE MODE")
    for signature in ("vote_soon(bigint, bigint, text, timestamptz)", "votes_if_free(bigint[], bigint[], text[], timestamptz)"):
        op.execute(f"DROP FUNCTION {signature}")
    for function in ("note_votes", "note_anything", *RANKED_BY):
        op.execute(f"DROP FUNCTION {function}() CASCADE")
    op.execute(NOTE_CHANGE)
    for name, when in NOTED_BEFORE.items():
        note(name, when, "note_change")
    op.execute(RANKED_BEFORE)
    op.execute(f"CREATE TRIGGER projects_ranked_over {RANKED_BEFORE_WHEN} EXECUTE FUNCTION projects_ranked_over()")
