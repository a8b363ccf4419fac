-- How many live projects carry each tag.

CREATE TRIGGER projects_tags_counted_in AFTER INSERT ON projects WHEN NEW.status = 'live'
BEGIN
    INSERT INTO tag_counts (tag, live_projects) SELECT value, 1 FROM json_each(NEW.tags) WHERE true
    ON CONFLICT (tag) DO UPDATE SET live_projects = live_projects + 1;
END;

CREATE TRIGGER projects_tags_counted_out AFTER DELETE ON projects WHEN OLD.status = 'live'
BEGIN
    UPDATE tag_counts SET live_projects = live_projects - 1 WHERE tag IN (SELECT value FROM json_each(OLD.tags));
END;

CREATE TRIGGER projects_tags_counted_over AFTER UPDATE OF status, tags ON projects
WHEN (OLD.status = 'live' OR NEW.status = 'live') AND (OLD.status <> NEW.status OR OLD.tags <> NEW.tags)
BEGIN
    UPDATE tag_counts SET live_projects = live_projects - 1
    WHERE OLD.status = 'live' AND tag IN (SELECT value FROM json_each(OLD.tags));
    INSERT INTO tag_counts (tag, live_projects) SELECT value, 1 FROM json_each(NEW.tags) WHERE NEW.status = 'live'
    ON CONFLICT (tag) DO UPDATE SET live_projects = live_projects + 1;
END;
