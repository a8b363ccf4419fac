-- The index of the values of own fields, and how many live projects of a category have each of them, but for texts and
-- addresses. Without such values no trigger runs. One trigger does all of a change, since SQLite promises no order of several.

CREATE TRIGGER projects_fields_in AFTER INSERT ON projects WHEN NEW.fields IS NOT NULL
BEGIN
    INSERT INTO project_fields (field, value, project_id, number)
    SELECT f.key, CASE WHEN d.kind = 'truth' THEN iif(f.value, 'true', 'false') WHEN d.kind = 'choice' THEN f.value ELSE '' END,
        NEW.id, CASE d.kind WHEN 'number' THEN f.value WHEN 'date' THEN CAST(julianday(f.value) - 2440587.5 AS INTEGER) END
    FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key WHERE d.kind <> 'choices';
    INSERT INTO project_fields (field, value, project_id)
    SELECT f.key, e.value, NEW.id FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key,
        json_each(f.value) AS e WHERE d.kind = 'choices' AND f.type = 'array';
    INSERT INTO field_counts (field, value, number, category_id, live_projects)
    SELECT field, value, coalesce(number, 0), NEW.category_id, 1 FROM project_fields
    WHERE project_id = NEW.id AND (value <> '' OR number IS NOT NULL) AND NEW.status = 'live'
    ON CONFLICT DO UPDATE SET live_projects = live_projects + 1;
END;

CREATE TRIGGER projects_fields_over AFTER UPDATE OF fields, status, category_id ON projects
WHEN NEW.fields IS NOT OLD.fields
    OR NEW.fields IS NOT NULL AND (NEW.status <> OLD.status OR NEW.category_id <> OLD.category_id)
BEGIN
    DELETE FROM field_counts
    WHERE OLD.status = 'live' AND category_id = OLD.category_id AND live_projects = 1 AND (field, value, number) IN
        (SELECT field, value, coalesce(number, 0) FROM project_fields WHERE project_id = NEW.id);
    UPDATE field_counts SET live_projects = live_projects - 1
    WHERE OLD.status = 'live' AND category_id = OLD.category_id AND (field, value, number) IN
        (SELECT field, value, coalesce(number, 0) FROM project_fields WHERE project_id = NEW.id);
    DELETE FROM project_fields WHERE project_id = NEW.id AND NEW.fields IS NOT OLD.fields;
    INSERT INTO project_fields (field, value, project_id, number)
    SELECT f.key, CASE WHEN d.kind = 'truth' THEN iif(f.value, 'true', 'false') WHEN d.kind = 'choice' THEN f.value ELSE '' END,
        NEW.id, CASE d.kind WHEN 'number' THEN f.value WHEN 'date' THEN CAST(julianday(f.value) - 2440587.5 AS INTEGER) END
    FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key
    WHERE d.kind <> 'choices' AND NEW.fields IS NOT OLD.fields;
    INSERT INTO project_fields (field, value, project_id)
    SELECT f.key, e.value, NEW.id FROM json_each(NEW.fields) AS f JOIN field_definitions d ON d.name = f.key,
        json_each(f.value) AS e WHERE d.kind = 'choices' AND f.type = 'array' AND NEW.fields IS NOT OLD.fields;
    INSERT INTO field_counts (field, value, number, category_id, live_projects)
    SELECT field, value, coalesce(number, 0), NEW.category_id, 1 FROM project_fields
    WHERE project_id = NEW.id AND (value <> '' OR number IS NOT NULL) AND NEW.status = 'live'
    ON CONFLICT DO UPDATE SET live_projects = live_projects + 1;
END;

-- Before it, for the values go with the project.
CREATE TRIGGER projects_fields_out BEFORE DELETE ON projects WHEN OLD.fields IS NOT NULL AND OLD.status = 'live'
BEGIN
    DELETE FROM field_counts
    WHERE category_id = OLD.category_id AND live_projects = 1 AND (field, value, number) IN
        (SELECT field, value, coalesce(number, 0) FROM project_fields WHERE project_id = OLD.id);
    UPDATE field_counts SET live_projects = live_projects - 1
    WHERE category_id = OLD.category_id AND (field, value, number) IN
        (SELECT field, value, coalesce(number, 0) FROM project_fields WHERE project_id = OLD.id);
END;
