-- The case of a project that is added, and the rule that a project's status and its current case agree.
--
-- Who changes a status changes the case first.

CREATE TRIGGER projects_reviewed_in AFTER INSERT ON projects WHEN NEW.status = 'pending'
BEGIN
    INSERT INTO reviews (project_id, kind, turn, since, place, category_id)
        VALUES (NEW.id, 'submission', 'reviewers', NEW.submitted_at, NEW.submitted_at, NEW.category_id);
END;

CREATE TRIGGER projects_reviewed_over AFTER UPDATE OF status ON projects
WHEN OLD.status <> NEW.status AND NEW.status <> coalesce((
    SELECT iif(outcome IS NULL, 'pending', 'rejected') FROM reviews
    WHERE project_id = NEW.id AND is_current = 1 AND kind = 'submission'
), 'live')
BEGIN
    SELECT RAISE(ABORT, 'CHECK constraint failed: ck_projects_case');
END;

CREATE TRIGGER projects_reviewed_elsewhere AFTER UPDATE OF category_id ON projects
WHEN OLD.category_id <> NEW.category_id
BEGIN
    UPDATE reviews SET category_id = NEW.category_id WHERE project_id = NEW.id AND is_current = 1;
END;

-- The pictures in changes, as `pictures` has those in the lists of projects.

CREATE TRIGGER reviews_pictured_in AFTER INSERT ON reviews WHEN NEW.changes IS NOT NULL
BEGIN
    -- While 0066 writes a case, those of the table of before are there.
    INSERT OR IGNORE INTO picture_uses (project_id, is_held, digest)
        SELECT DISTINCT NEW.project_id, 1, substr(m.value, 9, 64)
        FROM json_each(NEW.changes, '$.pictures') AS p, json_each(p.value) AS m WHERE m.key = '1280';
END;

CREATE TRIGGER reviews_pictured_over AFTER UPDATE OF changes ON reviews WHEN OLD.changes IS NOT NEW.changes
BEGIN
    DELETE FROM picture_uses WHERE project_id = NEW.project_id AND is_held;
    INSERT INTO picture_uses (project_id, is_held, digest)
        SELECT DISTINCT NEW.project_id, 1, substr(m.value, 9, 64)
        FROM json_each(NEW.changes, '$.pictures') AS p, json_each(p.value) AS m WHERE m.key = '1280';
END;
