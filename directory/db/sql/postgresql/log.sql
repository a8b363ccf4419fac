-- The audit log is append-only. An entry may be deleted if it is older than a row of `audit_retention`, which exists
-- only within the transaction that deletes; and of an entry `url_key` may change, which is derived from an address.
-- Where the project is gone, its title and what an edit changed may be set to null.

CREATE OR REPLACE FUNCTION audit_entries_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT FROM audit_retention WHERE OLD.at < before) THEN
            RETURN OLD;
        END IF;
    END IF;
    IF TG_OP = 'UPDATE' THEN
        IF to_jsonb(NEW) - 'url_key' = to_jsonb(OLD) - 'url_key' THEN
            RETURN NEW;
        END IF;
        IF NEW.project_title IS NULL AND NEW.changes IS NULL
            AND to_jsonb(NEW) - '{url_key,project_title,changes}'::text[]
                = to_jsonb(OLD) - '{url_key,project_title,changes}'::text[]
            AND NOT EXISTS (SELECT FROM projects WHERE id = OLD.project_id) AND OLD.project_id IS NOT NULL
        THEN
            RETURN NEW;
        END IF;
    END IF;
    RAISE EXCEPTION 'the log is append-only';
END $$;

CREATE OR REPLACE TRIGGER audit_entries_kept BEFORE UPDATE OR DELETE ON audit_entries
    FOR EACH ROW EXECUTE FUNCTION audit_entries_kept();
CREATE OR REPLACE TRIGGER audit_entries_whole BEFORE TRUNCATE ON audit_entries EXECUTE FUNCTION audit_entries_kept();
