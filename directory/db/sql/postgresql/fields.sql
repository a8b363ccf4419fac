-- The index of the values of own fields. Without such values no trigger runs.

CREATE OR REPLACE FUNCTION projects_fields_indexed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.fields IS NOT NULL THEN
        DELETE FROM project_fields WHERE project_id = NEW.id;
    END IF;
    INSERT INTO project_fields (field, value, project_id, number)
        SELECT f.key, e.value, NEW.id, CASE d.kind
            WHEN 'number' THEN CAST(f.value #>> '{}' AS double precision)
            WHEN 'date' THEN CAST(f.value #>> '{}' AS date) - DATE '1970-01-01'
        END
        FROM jsonb_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key
        CROSS JOIN LATERAL (
            SELECT CASE WHEN d.kind IN ('choice', 'truth') THEN f.value #>> '{}' ELSE '' END WHERE d.kind <> 'choices'
            UNION ALL SELECT jsonb_array_elements_text(f.value) WHERE d.kind = 'choices'
        ) AS e (value);
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_fields_in AFTER INSERT ON projects
    FOR EACH ROW WHEN (NEW.fields IS NOT NULL) EXECUTE FUNCTION projects_fields_indexed();
CREATE OR REPLACE TRIGGER projects_fields_over AFTER UPDATE OF fields ON projects
    FOR EACH ROW WHEN (NEW.fields IS DISTINCT FROM OLD.fields) EXECUTE FUNCTION projects_fields_indexed();
