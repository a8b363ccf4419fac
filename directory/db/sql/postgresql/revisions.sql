-- A project that is no longer live has no revision. The trigger also runs for a takedown of many projects.

CREATE OR REPLACE FUNCTION projects_revision_dropped() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM revisions WHERE project_id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_revision_dropped AFTER UPDATE OF status ON projects
    FOR EACH ROW WHEN (OLD.status = 'live' AND NEW.status <> 'live') EXECUTE FUNCTION projects_revision_dropped();
