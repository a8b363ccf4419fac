-- The case of a project that is added, and the rule that a project's status and its current case agree.
--
-- Who changes a status changes the case first. The case is locked after its project.

CREATE OR REPLACE FUNCTION projects_reviewed_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO reviews (project_id, kind, turn, since, place, category_id)
        SELECT id, 'submission', 'reviewers', submitted_at, submitted_at, category_id
        FROM added WHERE status = 'pending';
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_reviewed_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.status <> coalesce((
        SELECT CASE WHEN outcome IS NULL THEN 'pending' ELSE 'rejected' END FROM reviews
        WHERE project_id = NEW.id AND is_current AND kind = 'submission'
    ), 'live') THEN
        RAISE EXCEPTION USING ERRCODE = 'check_violation', CONSTRAINT = 'ck_projects_case',
            MESSAGE = 'the status of a project does not agree with its case';
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_reviewed_elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE reviews SET category_id = NEW.category_id WHERE project_id = NEW.id AND is_current;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_reviewed_in AFTER INSERT ON projects REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION projects_reviewed_in();
CREATE OR REPLACE TRIGGER projects_reviewed_over AFTER UPDATE OF status ON projects
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION projects_reviewed_over();
CREATE OR REPLACE TRIGGER projects_reviewed_elsewhere AFTER UPDATE OF category_id ON projects
    FOR EACH ROW WHEN (OLD.category_id <> NEW.category_id) EXECUTE FUNCTION projects_reviewed_elsewhere();

-- The pictures in changes, as `pictures` has those in the lists of projects.

CREATE OR REPLACE FUNCTION reviews_pictured() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' THEN
        DELETE FROM picture_uses WHERE project_id = NEW.project_id AND is_held;
    END IF;
    INSERT INTO picture_uses (project_id, is_held, digest)
        SELECT DISTINCT NEW.project_id, true, substr(p ->> '1280', 9, 64)
        FROM json_array_elements(NEW.changes -> 'pictures') AS p ORDER BY 3
        ON CONFLICT DO NOTHING;  -- while 0066 writes a case, those of the table of before are there
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER reviews_pictured_in AFTER INSERT ON reviews
    FOR EACH ROW WHEN (NEW.changes IS NOT NULL) EXECUTE FUNCTION reviews_pictured();
CREATE OR REPLACE TRIGGER reviews_pictured_over AFTER UPDATE OF changes ON reviews
    FOR EACH ROW WHEN (OLD.changes::text IS DISTINCT FROM NEW.changes::text) EXECUTE FUNCTION reviews_pictured();
