-- What a downgrade to 0065 makes again: the triggers of `revisions`.

CREATE OR REPLACE FUNCTION projects_revision_dropped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM revisions WHERE project_id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_revision_dropped AFTER UPDATE OF status ON projects
    FOR EACH ROW WHEN (OLD.status = 'live' AND NEW.status <> 'live') EXECUTE FUNCTION projects_revision_dropped();

CREATE OR REPLACE FUNCTION revisions_pictured() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM picture_uses WHERE project_id = OLD.project_id AND is_held;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO picture_uses (project_id, is_held, digest)
            SELECT DISTINCT NEW.project_id, true, substr(p ->> '1280', 9, 64)
            FROM (VALUES (NEW.changes -> 'pictures'), (NEW.rejected -> 'pictures')) AS l (list),
                json_array_elements(l.list) AS p ORDER BY 3;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER revisions_pictured AFTER INSERT OR DELETE OR UPDATE OF changes, rejected ON revisions
    FOR EACH ROW EXECUTE FUNCTION revisions_pictured();
