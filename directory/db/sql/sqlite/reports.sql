-- A project that is no longer live has no open report: what was reported has been acted on. The reporters keep its last
-- title as the public saw it. A deleted project leaves the reports of members alone.

CREATE TRIGGER projects_reports_settled AFTER UPDATE OF status ON projects
WHEN OLD.status = 'live' AND NEW.status <> 'live'
BEGIN
    UPDATE reports SET
        project_title = OLD.title, outcome = coalesce(outcome, 'acted'), address_key = NULL,
        settled_at = coalesce(settled_at, strftime('%Y-%m-%d %H:%M:%f', 'now') || '000')
    WHERE project_id = OLD.id;
END;

CREATE TRIGGER projects_reports_left AFTER DELETE ON projects
BEGIN
    DELETE FROM reports WHERE project_id = OLD.id AND reporter_id IS NULL;
    UPDATE reports SET
        project_title = CASE WHEN OLD.status = 'live' THEN OLD.title ELSE coalesce(project_title, OLD.title) END,
        outcome = coalesce(outcome, 'acted'),
        settled_at = coalesce(settled_at, strftime('%Y-%m-%d %H:%M:%f', 'now') || '000')
    WHERE project_id = OLD.id;
END;
