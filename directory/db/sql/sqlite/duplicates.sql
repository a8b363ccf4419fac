-- An owner has no two projects of one address, unless both have a repository and these differ.
--
-- That is not transitive, so no unique index expresses it: a project without a repository equals each of two that
-- differ. The triggers refuse in the words of the unique constraint that was there before, which the version before
-- knows.

CREATE TRIGGER projects_unequal_in AFTER INSERT ON projects
WHEN EXISTS (
    SELECT 1 FROM projects o WHERE o.owner_id = NEW.owner_id AND o.url_key = NEW.url_key
        AND o.id <> NEW.id AND (o.repository_key = NEW.repository_key) IS NOT FALSE
)
BEGIN
    SELECT RAISE(ABORT, 'UNIQUE constraint failed: projects.owner_id, projects.url_key');
END;

-- A repository that is added to a project without one makes no new duplicate.
CREATE TRIGGER projects_unequal_over AFTER UPDATE OF owner_id, url_key, repository_key ON projects
WHEN (
    OLD.owner_id <> NEW.owner_id OR OLD.url_key <> NEW.url_key OR OLD.repository_key <> NEW.repository_key
    OR (OLD.repository_key IS NOT NULL AND NEW.repository_key IS NULL)
) AND EXISTS (
    SELECT 1 FROM projects o WHERE o.owner_id = NEW.owner_id AND o.url_key = NEW.url_key
        AND o.id <> NEW.id AND (o.repository_key = NEW.repository_key) IS NOT FALSE
)
BEGIN
    SELECT RAISE(ABORT, 'UNIQUE constraint failed: projects.owner_id, projects.url_key');
END;
