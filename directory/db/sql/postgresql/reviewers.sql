-- Whoever may no longer review a project has no approval of it, and no claim on it.

CREATE OR REPLACE FUNCTION users_reviewing_less() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    may_review boolean := NEW.status = 'active' AND (NEW.role = 'admin' OR NEW.is_reviewer);
    categories jsonb := CASE WHEN NEW.is_reviewer THEN NEW.review_categories END;  -- null: all
BEGIN
    DELETE FROM approvals USING projects WHERE approvals.user_id = NEW.id AND projects.id = approvals.project_id
        AND NOT (may_review AND coalesce(categories @> to_jsonb(projects.category_id), true));
    DELETE FROM review_claims USING projects WHERE review_claims.user_id = NEW.id
        AND projects.id = review_claims.project_id
        AND NOT (may_review AND coalesce(categories @> to_jsonb(projects.category_id), true));
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_reviewing_less AFTER UPDATE OF role, is_reviewer, status, review_categories ON users
    FOR EACH ROW WHEN (OLD.role <> NEW.role OR OLD.is_reviewer <> NEW.is_reviewer OR OLD.status <> NEW.status
        OR OLD.review_categories IS DISTINCT FROM NEW.review_categories) EXECUTE FUNCTION users_reviewing_less();

-- Administrators and deleted accounts are not reviewers, also if a process of the version before made them so.
CREATE OR REPLACE FUNCTION users_reviewing_no_more() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE users SET is_reviewer = false, review_categories = NULL WHERE id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_reviewing_no_more AFTER UPDATE OF role, deleted_at ON users
    FOR EACH ROW WHEN (NEW.is_reviewer AND (NEW.role <> 'member' OR NEW.deleted_at IS NOT NULL))
    EXECUTE FUNCTION users_reviewing_no_more();
