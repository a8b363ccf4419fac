-- What a downgrade to 0065 makes again: the triggers of `revisions`.

CREATE TRIGGER projects_revision_dropped AFTER UPDATE OF status ON projects
WHEN OLD.status = 'live' AND NEW.status <> 'live'
BEGIN
    DELETE FROM revisions WHERE project_id = NEW.id;
END;

CREATE TRIGGER revisions_pictured_in AFTER INSERT ON revisions
BEGIN
    INSERT INTO picture_uses (project_id, is_held, digest)
        SELECT NEW.project_id, 1, substr(m.value, 9, 64)
        FROM json_each(NEW.changes, '$.pictures') AS p, json_each(p.value) AS m WHERE m.key = '1280'
        UNION
        SELECT NEW.project_id, 1, substr(m.value, 9, 64)
        FROM json_each(NEW.rejected, '$.pictures') AS p, json_each(p.value) AS m WHERE m.key = '1280';
END;

CREATE TRIGGER revisions_pictured_over AFTER UPDATE OF changes, rejected ON revisions
BEGIN
    DELETE FROM picture_uses WHERE project_id = NEW.project_id AND is_held;
    INSERT INTO picture_uses (project_id, is_held, digest)
        SELECT NEW.project_id, 1, substr(m.value, 9, 64)
        FROM json_each(NEW.changes, '$.pictures') AS p, json_each(p.value) AS m WHERE m.key = '1280'
        UNION
        SELECT NEW.project_id, 1, substr(m.value, 9, 64)
        FROM json_each(NEW.rejected, '$.pictures') AS p, json_each(p.value) AS m WHERE m.key = '1280';
END;

CREATE TRIGGER revisions_pictured_out AFTER DELETE ON revisions
BEGIN
    DELETE FROM picture_uses WHERE project_id = OLD.project_id AND is_held;
END;
