-- An owner has no two projects of one address, unless both have a repository and these differ.
--
-- That is not transitive, so no unique index expresses it: a project without a repository equals each of two that
-- differ. Triggers refuse by the name of the unique constraint that was there before, which the version before knows.
-- They lock the owner and the address until the transaction ends: of two transactions that add such projects at once,
-- the second waits, and then sees the project of the first. Rows that one statement adds are locked in one order. Of
-- very many rows, as `flask seed` and `flask copy` add them, the table is locked, because PostgreSQL has room for some
-- thousands of locks.
-- Triggers of one event run in the order of their names, so these come after those that lock counters.

CREATE OR REPLACE FUNCTION projects_unequal_in() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    IF (SELECT count(*) > 1000 FROM added) THEN
        LOCK TABLE projects IN SHARE ROW EXCLUSIVE MODE;
    ELSE
        PERFORM pg_advisory_xact_lock(key) FROM (
            SELECT DISTINCT hashtextextended(owner_id || ' ' || url_key, 0) AS key FROM added ORDER BY key
        ) AS keys;
    END IF;
    IF EXISTS (
        SELECT FROM added JOIN projects o ON o.owner_id = added.owner_id AND o.url_key = added.url_key
            AND o.id <> added.id AND (o.repository_key = added.repository_key) IS NOT FALSE
    ) THEN
        RAISE EXCEPTION USING ERRCODE = 'unique_violation', CONSTRAINT = 'uq_projects_owner_id_url_key',
            MESSAGE = 'duplicate project';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_unequal_over() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(NEW.owner_id || ' ' || NEW.url_key, 0));
    IF EXISTS (
        SELECT FROM projects o WHERE o.owner_id = NEW.owner_id AND o.url_key = NEW.url_key
            AND o.id <> NEW.id AND (o.repository_key = NEW.repository_key) IS NOT FALSE
    ) THEN
        RAISE EXCEPTION USING ERRCODE = 'unique_violation', CONSTRAINT = 'uq_projects_owner_id_url_key',
            MESSAGE = 'duplicate project';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_unequal_in AFTER INSERT ON projects REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION projects_unequal_in();
-- A repository that is added to a project without one makes no new duplicate.
CREATE OR REPLACE TRIGGER projects_unequal_over AFTER UPDATE OF owner_id, url_key, repository_key ON projects
    FOR EACH ROW WHEN (
        OLD.owner_id <> NEW.owner_id OR OLD.url_key <> NEW.url_key OR OLD.repository_key <> NEW.repository_key
        OR (OLD.repository_key IS NOT NULL AND NEW.repository_key IS NULL)
    ) EXECUTE FUNCTION projects_unequal_over();
