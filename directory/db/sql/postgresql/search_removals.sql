-- How many changes may each have taken a match from any search: a count of matches holds, less those since.
--
-- Rows are only added, so that writers do not wait for each other; one change in a hundred replaces the rows by their
-- sum. A change of a name counts as more than any count of matches, so that none holds any longer.

CREATE OR REPLACE FUNCTION count_search_removals() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF random() >= 0.01 THEN
        INSERT INTO project_search_removals (projects) VALUES (TG_ARGV[0]::bigint);
    ELSE
        WITH summed AS (
            DELETE FROM project_search_removals WHERE ctid = ANY (
                ARRAY(SELECT r.ctid FROM project_search_removals r FOR UPDATE SKIP LOCKED)
            ) RETURNING projects
        )
        INSERT INTO project_search_removals (projects)
            SELECT coalesce(sum(projects), 0) + TG_ARGV[0]::bigint FROM summed;
    END IF;
    RETURN NULL;
END $$;

-- The columns that searches and their filters look at, as far as the table has them: earlier migrations install this
-- file before a later one adds a column.
DO $do$
BEGIN
    EXECUTE format(
        'CREATE OR REPLACE TRIGGER projects_removal_changed AFTER UPDATE OF %s ON projects '
        'FOR EACH ROW WHEN (OLD.status = ''live'') EXECUTE FUNCTION count_search_removals(''1'')',
        (
            SELECT string_agg(quote_ident(attname), ', ' ORDER BY attname) FROM pg_attribute
            WHERE attrelid = 'projects'::regclass AND NOT attisdropped AND attname IN (
                'status', 'category_id', 'owner_id', 'title', 'tagline', 'author', 'description', 'tags', 'url',
                'repository_url', 'fields'
            )
        )
    );
END $do$;
CREATE OR REPLACE TRIGGER projects_removal_deleted AFTER DELETE ON projects
    FOR EACH ROW WHEN (OLD.status = 'live') EXECUTE FUNCTION count_search_removals('1');
CREATE OR REPLACE TRIGGER categories_removal_renamed AFTER UPDATE OF slug ON categories
    FOR EACH ROW EXECUTE FUNCTION count_search_removals('1000000000000');
CREATE OR REPLACE TRIGGER users_removal_renamed AFTER UPDATE OF username ON users
    FOR EACH ROW EXECUTE FUNCTION count_search_removals('1000000000000');
CREATE OR REPLACE TRIGGER projects_removal_truncated AFTER TRUNCATE ON projects
    FOR EACH STATEMENT EXECUTE FUNCTION count_search_removals('1000000000000');
