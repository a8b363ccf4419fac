-- The index of the values of own fields, and how many live projects of a category have each of them, but for texts and
-- addresses. Insertions are counted by the statement, as those of the categories are (categories.sql). Without such
-- values no other trigger runs.
--
-- These counters are changed under the lock of their category, which a transaction has before it locks tags: triggers of
-- one event run in the order of their names, and projects_tags_counted_… comes later (tag_counts.sql).

-- One by one, by the key: a join of both tables is planned wrongly while nothing is known of one of them.
CREATE OR REPLACE FUNCTION uncount_fields(project bigint, category bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    held record;
BEGIN
    FOR held IN
        SELECT field, value, coalesce(number, 0) AS number FROM project_fields
        WHERE project_id = project AND (value <> '' OR number IS NOT NULL)
    LOOP
        UPDATE field_counts SET live_projects = live_projects - 1
            WHERE field = held.field AND value = held.value AND number = held.number AND category_id = category
                AND live_projects > 1;
        IF NOT FOUND THEN
            DELETE FROM field_counts
                WHERE field = held.field AND value = held.value AND number = held.number AND category_id = category;
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION index_fields(project bigint, fields jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO project_fields (field, value, project_id, number)
        SELECT f.key, e.value, project, CASE d.kind
            WHEN 'number' THEN CAST(f.value #>> '{}' AS double precision)
            WHEN 'date' THEN CAST(f.value #>> '{}' AS date) - DATE '1970-01-01'
        END
        FROM jsonb_each(fields) AS f JOIN field_definitions d ON d.name = f.key
        CROSS JOIN LATERAL (
            SELECT CASE WHEN d.kind IN ('choice', 'truth') THEN f.value #>> '{}' ELSE '' END WHERE d.kind <> 'choices'
            UNION ALL SELECT jsonb_array_elements_text(f.value) WHERE d.kind = 'choices'
        ) AS e (value);
$$;

CREATE OR REPLACE FUNCTION projects_fields_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM added WHERE fields IS NOT NULL) THEN
        RETURN NULL;
    END IF;
    PERFORM index_fields(id, fields) FROM added WHERE fields IS NOT NULL;
    PERFORM 1 FROM categories WHERE id IN (SELECT category_id FROM added WHERE status = 'live')
        ORDER BY id FOR NO KEY UPDATE;
    INSERT INTO field_counts AS c (field, value, number, category_id, live_projects)
        SELECT f.field, f.value, coalesce(f.number, 0), added.category_id, count(*)
        FROM added JOIN project_fields f ON f.project_id = added.id
        WHERE added.status = 'live' AND (f.value <> '' OR f.number IS NOT NULL) GROUP BY 1, 2, 3, 4
        ON CONFLICT (field, value, number, category_id)
        DO UPDATE SET live_projects = c.live_projects + excluded.live_projects;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_fields_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.status = 'live' OR NEW.status = 'live' THEN
        PERFORM 1 FROM categories WHERE id IN (OLD.category_id, NEW.category_id) ORDER BY id FOR NO KEY UPDATE;
    END IF;
    IF OLD.status = 'live' THEN
        PERFORM uncount_fields(NEW.id, OLD.category_id);
    END IF;
    IF NEW.fields IS DISTINCT FROM OLD.fields THEN
        DELETE FROM project_fields WHERE project_id = NEW.id;
        PERFORM index_fields(NEW.id, NEW.fields);
    END IF;
    IF NEW.status = 'live' THEN
        INSERT INTO field_counts AS c (field, value, number, category_id, live_projects)
            SELECT field, value, coalesce(number, 0), NEW.category_id, 1 FROM project_fields
            WHERE project_id = NEW.id AND (value <> '' OR number IS NOT NULL)
            ON CONFLICT (field, value, number, category_id) DO UPDATE SET live_projects = c.live_projects + 1;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_fields_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM categories WHERE id = OLD.category_id FOR NO KEY UPDATE;
    PERFORM uncount_fields(OLD.id, OLD.category_id);
    RETURN OLD;
END $$;

CREATE OR REPLACE TRIGGER projects_fields_in AFTER INSERT ON projects REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION projects_fields_in();
CREATE OR REPLACE TRIGGER projects_fields_over AFTER UPDATE OF fields, status, category_id ON projects FOR EACH ROW
    WHEN (NEW.fields IS DISTINCT FROM OLD.fields
        OR NEW.fields IS NOT NULL AND (NEW.status <> OLD.status OR NEW.category_id <> OLD.category_id))
    EXECUTE FUNCTION projects_fields_over();
-- Before it, for the values go with the project.
CREATE OR REPLACE TRIGGER projects_fields_out BEFORE DELETE ON projects
    FOR EACH ROW WHEN (OLD.fields IS NOT NULL AND OLD.status = 'live') EXECUTE FUNCTION projects_fields_out();
