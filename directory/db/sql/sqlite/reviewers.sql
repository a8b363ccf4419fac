-- Whoever may no longer review a project has no approval of it, and no claim on it.

CREATE TRIGGER users_reviewing_less AFTER UPDATE OF role, is_reviewer, status, review_categories ON users
WHEN NEW.status <> 'active' OR (NEW.role = 'member' AND NOT (NEW.is_reviewer AND NEW.review_categories IS NULL))
BEGIN
    DELETE FROM approvals WHERE user_id = NEW.id AND (
        NEW.status <> 'active' OR NOT NEW.is_reviewer OR (SELECT category_id FROM projects WHERE id = project_id)
        NOT IN (SELECT value FROM json_each(NEW.review_categories)));
    DELETE FROM review_claims WHERE user_id = NEW.id AND (
        NEW.status <> 'active' OR NOT NEW.is_reviewer OR (SELECT category_id FROM projects WHERE id = project_id)
        NOT IN (SELECT value FROM json_each(NEW.review_categories)));
END;

-- Administrators and deleted accounts are not reviewers, also if a process of the version before made them so.
CREATE TRIGGER users_reviewing_no_more AFTER UPDATE OF role, deleted_at ON users
WHEN NEW.is_reviewer AND (NEW.role <> 'member' OR NEW.deleted_at IS NOT NULL)
BEGIN
    UPDATE users SET is_reviewer = 0, review_categories = NULL WHERE id = NEW.id;
END;
