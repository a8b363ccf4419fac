-- Which stored pictures the lists of projects name: a copy, whose foreign key keeps them stored.
--
-- A trigger may use json_each, but not json_extract: the schema is not trusted.

CREATE TRIGGER projects_pictured_in AFTER INSERT ON projects WHEN NEW.pictures IS NOT NULL
BEGIN
    INSERT INTO picture_uses (project_id, is_held, digest)
        SELECT DISTINCT NEW.id, 0, substr(m.value, 9, 64) FROM json_each(NEW.pictures) AS p, json_each(p.value) AS m
        WHERE m.key = '1280';
END;

CREATE TRIGGER projects_pictured_over AFTER UPDATE OF pictures ON projects WHEN OLD.pictures IS NOT NEW.pictures
BEGIN
    DELETE FROM picture_uses WHERE project_id = NEW.id AND NOT is_held;
    INSERT INTO picture_uses (project_id, is_held, digest)
        SELECT DISTINCT NEW.id, 0, substr(m.value, 9, 64) FROM json_each(NEW.pictures) AS p, json_each(p.value) AS m
        WHERE m.key = '1280';
END;
