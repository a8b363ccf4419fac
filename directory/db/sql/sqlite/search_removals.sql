-- How many changes may each have taken a match from any search: a count of matches holds, less those since. A change of
-- a name counts as more than any count of matches, so that none holds any longer.

-- The columns that searches and their filters look at.
CREATE TRIGGER projects_removal_changed
AFTER UPDATE OF
    status, category_id, owner_id, title, tagline, author, description, tags, url, repository_url, fields
ON projects
WHEN OLD.status = 'live'
BEGIN
    UPDATE project_search_removals SET projects = projects + 1 WHERE rowid = 1;
END;

CREATE TRIGGER projects_removal_deleted AFTER DELETE ON projects WHEN OLD.status = 'live'
BEGIN
    UPDATE project_search_removals SET projects = projects + 1 WHERE rowid = 1;
END;

CREATE TRIGGER categories_removal_renamed AFTER UPDATE OF slug ON categories
BEGIN
    UPDATE project_search_removals SET projects = projects + 1000000000000 WHERE rowid = 1;
END;

CREATE TRIGGER users_removal_renamed AFTER UPDATE OF username ON users
BEGIN
    UPDATE project_search_removals SET projects = projects + 1000000000000 WHERE rowid = 1;
END;
