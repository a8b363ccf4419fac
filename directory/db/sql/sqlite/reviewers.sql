-- Whoever may no longer review a project has no approval of it, and no claim on it.

CREATE TRIGGER users_reviewing_less AFTER UPDATE OF role, status, review_categories ON users
WHEN NEW.status <> 'active' OR NEW.role = 'member' OR (NEW.role = 'reviewer' AND NEW.review_categories IS NOT NULL)
BEGIN
    DELETE FROM approvals WHERE user_id = NEW.id AND (
        NEW.status <> 'active' OR NEW.role = 'member' OR (SELECT category_id FROM projects WHERE id = project_id)
        NOT IN (SELECT value FROM json_each(NEW.review_categories)));
    DELETE FROM review_claims WHERE user_id = NEW.id AND (
        NEW.status <> 'active' OR NEW.role = 'member' OR (SELECT category_id FROM projects WHERE id = project_id)
        NOT IN (SELECT value FROM json_each(NEW.review_categories)));
END;
