-- Which stored pictures the lists of projects name: a copy, whose foreign key keeps them stored.
--
-- A bulk load of projects without pictures runs none of these functions.

CREATE OR REPLACE FUNCTION projects_pictured() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM picture_uses WHERE project_id = NEW.id AND NOT is_held;
    END IF;
    INSERT INTO picture_uses (project_id, is_held, digest)
        SELECT DISTINCT NEW.id, false, substr(p ->> '1280', 9, 64) FROM json_array_elements(NEW.pictures) AS p ORDER BY 3;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_pictured_in AFTER INSERT ON projects
    FOR EACH ROW WHEN (NEW.pictures IS NOT NULL) EXECUTE FUNCTION projects_pictured();
CREATE OR REPLACE TRIGGER projects_pictured_over AFTER UPDATE OF pictures ON projects
    FOR EACH ROW WHEN (OLD.pictures::text IS DISTINCT FROM NEW.pictures::text) EXECUTE FUNCTION projects_pictured();
