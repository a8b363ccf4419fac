-- The database follows a suspension by itself: votes of a suspended user do not count. So processes of the version
-- before keep the counters right too.

-- The account first, then the projects in the order of their ids, then the counters.
CREATE OR REPLACE FUNCTION count_votes_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    step integer := CASE WHEN NEW.status = 'active' THEN 1 ELSE -1 END;
BEGIN
    PERFORM 1 FROM users u WHERE u.id = NEW.id FOR UPDATE;
    PERFORM 1 FROM projects p WHERE p.id IN (SELECT v.project_id FROM upvotes v WHERE v.user_id = NEW.id)
        ORDER BY p.id FOR NO KEY UPDATE;
    UPDATE projects p SET upvotes = p.upvotes + step,
        hot = log((p.upvotes + step + 1)::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8
    FROM upvotes v
    WHERE v.user_id = NEW.id AND p.id = v.project_id AND NOT EXISTS (
        SELECT FROM vote_discounts d WHERE d.user_id = v.user_id AND d.project_id = v.project_id
    );
    RETURN NULL;
END $$;

-- For the version before, which takes back all votes of an account that is deleted, as if each of them counted.
CREATE OR REPLACE FUNCTION lift_discounts_of_user() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE projects p SET upvotes = p.upvotes + 1,
        hot = log((p.upvotes + 2)::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8
    FROM upvotes v JOIN vote_discounts d ON d.user_id = v.user_id AND d.project_id = v.project_id
    WHERE v.user_id = NEW.id AND p.id = v.project_id AND NEW.status = 'active';
    DELETE FROM vote_discounts d WHERE d.user_id = NEW.id;
    RETURN NULL;
END $$;

-- By their names they come before the trigger that locks the counts of users, which every registration changes.
CREATE OR REPLACE TRIGGER users_all_votes_counted AFTER UPDATE OF status ON users
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION count_votes_of_user();
CREATE OR REPLACE TRIGGER users_all_votes_freed AFTER UPDATE OF deleted_at ON users
    FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION lift_discounts_of_user();
