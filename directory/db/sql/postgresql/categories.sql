-- The numbers of projects of a category, and the table of tags, which `projects_counted_in` fills as well.
--
-- Insertions are counted by the statement: a load of a million rows must not update a dozen counters a million times.
-- Changes and deletions are counted by the row, with a WHEN that a vote does not meet. The smaller category goes first,
-- so that two projects that change places between two categories do not wait for each other.

CREATE OR REPLACE FUNCTION projects_counted_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE categories SET live_projects = live_projects + n.live, pending_projects = pending_projects + n.pending,
        rejected_projects = rejected_projects + n.rejected
    FROM (
        SELECT category_id, count(*) FILTER (WHERE status = 'live') AS live,
            count(*) FILTER (WHERE status = 'pending') AS pending,
            count(*) FILTER (WHERE status = 'rejected') AS rejected
        FROM added GROUP BY category_id ORDER BY category_id
    ) AS n WHERE categories.id = n.category_id;
    INSERT INTO project_tags (tag, project_id)
        SELECT t.tag, added.id FROM added, jsonb_array_elements_text(added.tags) AS t (tag);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_counted_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE categories SET live_projects = live_projects - (OLD.status = 'live')::int,
        pending_projects = pending_projects - (OLD.status = 'pending')::int,
        rejected_projects = rejected_projects - (OLD.status = 'rejected')::int
    WHERE id = OLD.category_id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_counted_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM categories WHERE id IN (OLD.category_id, NEW.category_id) ORDER BY id FOR NO KEY UPDATE;
    UPDATE categories SET live_projects = live_projects - (OLD.status = 'live')::int,
        pending_projects = pending_projects - (OLD.status = 'pending')::int,
        rejected_projects = rejected_projects - (OLD.status = 'rejected')::int
    WHERE id = OLD.category_id;
    UPDATE categories SET live_projects = live_projects + (NEW.status = 'live')::int,
        pending_projects = pending_projects + (NEW.status = 'pending')::int,
        rejected_projects = rejected_projects + (NEW.status = 'rejected')::int
    WHERE id = NEW.category_id;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_tagged_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM project_tags WHERE project_id = NEW.id;
    INSERT INTO project_tags (tag, project_id) SELECT tag, NEW.id FROM jsonb_array_elements_text(NEW.tags) AS t (tag);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_counted_in AFTER INSERT ON projects REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION projects_counted_in();
CREATE OR REPLACE TRIGGER projects_counted_out AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION projects_counted_out();
CREATE OR REPLACE TRIGGER projects_counted_over AFTER UPDATE OF status, category_id ON projects
    FOR EACH ROW WHEN (OLD.status <> NEW.status OR OLD.category_id <> NEW.category_id)
    EXECUTE FUNCTION projects_counted_over();
CREATE OR REPLACE TRIGGER projects_tagged_over AFTER UPDATE OF tags ON projects
    FOR EACH ROW WHEN (OLD.tags <> NEW.tags) EXECUTE FUNCTION projects_tagged_over();
