-- The audit log is append-only. An entry may be deleted if it is older than a row of `audit_retention`, which exists
-- only within the transaction that deletes; and of an entry `url_key` may change, which is derived from an address.
-- Where the project is gone, its title and what an edit changed may be set to null.

CREATE TRIGGER audit_entries_kept BEFORE DELETE ON audit_entries
WHEN NOT EXISTS (SELECT 1 FROM audit_retention WHERE OLD.at < before)
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

CREATE TRIGGER audit_entries_unchanged
BEFORE UPDATE OF id, action, at, actor_id, project_id, user_id, from_state, to_state, reason, waited_seconds,
    votes, category_id, rule_id ON audit_entries
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

CREATE TRIGGER audit_entries_erased BEFORE UPDATE OF project_title, changes ON audit_entries
WHEN NEW.project_title IS NOT NULL OR NEW.changes IS NOT NULL
    OR EXISTS (SELECT 1 FROM projects WHERE id = OLD.project_id) OR OLD.project_id IS NULL
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;
