-- Every change of what the public reads is noted in `changes`, for the response cache (docs/adr/0009); also what a
-- replication writes, so the triggers are always enabled.
--
-- `changes` has a row for each project whose votes changed, or a row without a project where anything may have changed.
-- The latter makes every earlier row superfluous; one in a thousand also deletes them. They are deleted seldom, because
-- a search for what to delete reads every note that an old transaction keeps from being vacuumed. Votes are noted where
-- they end, at `standings`: a repair of that table is noted as well, and a vote still runs two triggers. A note without
-- a category, as the version before wrote it, concerns every page. A transaction notes once that anything may have
-- changed.

CREATE OR REPLACE FUNCTION note_votes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() >= 0.001 THEN
        INSERT INTO changes (project_id, low, high, category_id)
            VALUES (NEW.project_id, least(OLD.upvotes, NEW.upvotes), greatest(OLD.upvotes, NEW.upvotes), NEW.category_id);
    ELSE
        DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM changes c FOR UPDATE SKIP LOCKED));
        INSERT INTO changes DEFAULT VALUES;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION note_anything() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() < 0.001 THEN
        DELETE FROM changes WHERE ctid = ANY (ARRAY(SELECT c.ctid FROM changes c FOR UPDATE SKIP LOCKED));
    ELSIF current_setting('directory.noted', true) = pg_current_xact_id()::text THEN
        RETURN NULL;
    END IF;
    INSERT INTO changes DEFAULT VALUES;
    PERFORM set_config('directory.noted', pg_current_xact_id()::text, true);
    RETURN NULL;
END $$;

-- All columns of a project but its votes, the rank that follows from them, and what is derived from other columns. They
-- are read from the table, so that a migration that adds a column installs this file and names the column once.
DO $do$
BEGIN
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER projects_noted AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF %s ON projects '
        'FOR EACH STATEMENT EXECUTE FUNCTION note_anything()',
        (
            SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname) FROM pg_attribute
            WHERE attrelid = 'projects'::regclass AND attnum > 0 AND NOT attisdropped
                AND attname NOT IN ('upvotes', 'hot', 'listed_at', 'repository_key', 'domain', 'text_key')
        )
    );
END $do$;
CREATE OR REPLACE TRIGGER categories_noted AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON categories
    FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
CREATE OR REPLACE TRIGGER users_noted
    AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF id, username, role, status, created_at ON users
    FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
CREATE OR REPLACE TRIGGER project_tags_noted AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON project_tags
    FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
CREATE OR REPLACE TRIGGER project_search_noted AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON project_search
    FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
CREATE OR REPLACE TRIGGER tag_counts_noted AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON tag_counts
    FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
CREATE OR REPLACE TRIGGER standings_noted
    AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE OF project_id, status, category_id ON standings
    FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
CREATE OR REPLACE TRIGGER standings_votes_noted AFTER UPDATE OF upvotes, hot ON standings
    FOR EACH ROW EXECUTE FUNCTION note_votes();
ALTER TABLE projects ENABLE ALWAYS TRIGGER projects_noted;
ALTER TABLE categories ENABLE ALWAYS TRIGGER categories_noted;
ALTER TABLE users ENABLE ALWAYS TRIGGER users_noted;
ALTER TABLE project_tags ENABLE ALWAYS TRIGGER project_tags_noted;
ALTER TABLE project_search ENABLE ALWAYS TRIGGER project_search_noted;
ALTER TABLE tag_counts ENABLE ALWAYS TRIGGER tag_counts_noted;
ALTER TABLE standings ENABLE ALWAYS TRIGGER standings_noted;
ALTER TABLE standings ENABLE ALWAYS TRIGGER standings_votes_noted;

-- Whether values of own fields are public follows from the definitions, whose table 0069 makes, with that of counters.
DO $do$
BEGIN
    IF to_regclass('field_definitions') IS NOT NULL THEN
        CREATE OR REPLACE TRIGGER field_definitions_noted
            AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON field_definitions
            FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
        ALTER TABLE field_definitions ENABLE ALWAYS TRIGGER field_definitions_noted;
        CREATE OR REPLACE TRIGGER field_counts_noted AFTER INSERT OR DELETE OR TRUNCATE OR UPDATE ON field_counts
            FOR EACH STATEMENT EXECUTE FUNCTION note_anything();
        ALTER TABLE field_counts ENABLE ALWAYS TRIGGER field_counts_noted;
    END IF;
END $do$;
