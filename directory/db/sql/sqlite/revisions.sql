-- A project that is no longer live has no revision.

CREATE TRIGGER projects_revision_dropped AFTER UPDATE OF status ON projects
WHEN OLD.status = 'live' AND NEW.status <> 'live'
BEGIN
    DELETE FROM revisions WHERE project_id = NEW.id;
END;
