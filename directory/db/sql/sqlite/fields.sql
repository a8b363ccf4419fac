-- The index of the values of own fields. Without such values no trigger runs.

CREATE TRIGGER projects_fields_in AFTER INSERT ON projects WHEN NEW.fields IS NOT NULL
BEGIN
    INSERT INTO project_fields (field, value, project_id, number)
    SELECT f.key, CASE WHEN d.kind = 'truth' THEN iif(f.value, 'true', 'false') WHEN d.kind = 'choice' THEN f.value ELSE '' END,
        NEW.id, CASE d.kind WHEN 'number' THEN f.value WHEN 'date' THEN CAST(julianday(f.value) - 2440587.5 AS INTEGER) END
    FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key WHERE d.kind <> 'choices';
    INSERT INTO project_fields (field, value, project_id)
    SELECT f.key, e.value, NEW.id FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key,
        json_each(f.value) AS e WHERE d.kind = 'choices' AND f.type = 'array';
END;

CREATE TRIGGER projects_fields_over AFTER UPDATE OF fields ON projects WHEN NEW.fields IS NOT OLD.fields
BEGIN
    DELETE FROM project_fields WHERE project_id = NEW.id;
    INSERT INTO project_fields (field, value, project_id, number)
    SELECT f.key, CASE WHEN d.kind = 'truth' THEN iif(f.value, 'true', 'false') WHEN d.kind = 'choice' THEN f.value ELSE '' END,
        NEW.id, CASE d.kind WHEN 'number' THEN f.value WHEN 'date' THEN CAST(julianday(f.value) - 2440587.5 AS INTEGER) END
    FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key WHERE d.kind <> 'choices';
    INSERT INTO project_fields (field, value, project_id)
    SELECT f.key, e.value, NEW.id FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key,
        json_each(f.value) AS e WHERE d.kind = 'choices' AND f.type = 'array';
END;
