-- The numbers of projects of a category, and the table of tags.

CREATE TRIGGER projects_counted_in AFTER INSERT ON projects
BEGIN
    UPDATE categories SET live_projects = live_projects + (NEW.status = 'live'),
        pending_projects = pending_projects + (NEW.status = 'pending'),
        rejected_projects = rejected_projects + (NEW.status = 'rejected')
    WHERE id = NEW.category_id;
END;

CREATE TRIGGER projects_counted_out AFTER DELETE ON projects
BEGIN
    UPDATE categories SET live_projects = live_projects - (OLD.status = 'live'),
        pending_projects = pending_projects - (OLD.status = 'pending'),
        rejected_projects = rejected_projects - (OLD.status = 'rejected')
    WHERE id = OLD.category_id;
END;

CREATE TRIGGER projects_counted_over AFTER UPDATE OF status, category_id ON projects
WHEN OLD.status <> NEW.status OR OLD.category_id <> NEW.category_id
BEGIN
    UPDATE categories SET live_projects = live_projects - (OLD.status = 'live'),
        pending_projects = pending_projects - (OLD.status = 'pending'),
        rejected_projects = rejected_projects - (OLD.status = 'rejected')
    WHERE id = OLD.category_id;
    UPDATE categories SET live_projects = live_projects + (NEW.status = 'live'),
        pending_projects = pending_projects + (NEW.status = 'pending'),
        rejected_projects = rejected_projects + (NEW.status = 'rejected')
    WHERE id = NEW.category_id;
END;

CREATE TRIGGER projects_tagged_in AFTER INSERT ON projects
BEGIN
    INSERT INTO project_tags (tag, project_id) SELECT value, NEW.id FROM json_each(NEW.tags);
END;

CREATE TRIGGER projects_tagged_over AFTER UPDATE OF tags ON projects WHEN OLD.tags <> NEW.tags
BEGIN
    DELETE FROM project_tags WHERE project_id = NEW.id;
    INSERT INTO project_tags (tag, project_id) SELECT value, NEW.id FROM json_each(NEW.tags);
END;
