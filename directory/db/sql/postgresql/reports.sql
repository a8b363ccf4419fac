-- A project that is no longer live has no open report: what was reported has been acted on. The reporters keep its last
-- title as the public saw it. A deleted project leaves the reports of members alone.

CREATE OR REPLACE FUNCTION settle_reports() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM reports WHERE project_id = OLD.id AND reporter_id IS NULL;
    END IF;
    UPDATE reports SET
        project_title = CASE WHEN OLD.status = 'live' THEN OLD.title ELSE coalesce(project_title, OLD.title) END,
        outcome = coalesce(outcome, 'acted'), settled_at = coalesce(settled_at, clock_timestamp()), address_key = NULL
    WHERE project_id = OLD.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_reports_settled AFTER UPDATE OF status ON projects
    FOR EACH ROW WHEN (OLD.status = 'live' AND NEW.status <> 'live') EXECUTE FUNCTION settle_reports();
CREATE OR REPLACE TRIGGER projects_reports_left AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION settle_reports();
