-- How many projects there are of each user.
--
-- As with the categories, insertions are counted by the statement and deletions by the row. By their names these
-- triggers come after those that count in categories: every transaction locks a category before a user's count. A user
-- without a count gets one, because the migration adds the users that were there before last.

CREATE OR REPLACE FUNCTION users_listed_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO user_submissions SELECT id, 0 FROM added;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_submitted_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO user_submissions AS s SELECT owner_id, count(*) FROM added GROUP BY owner_id ORDER BY owner_id
        ON CONFLICT (user_id) DO UPDATE SET submissions = s.submissions + excluded.submissions;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_submitted_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE user_submissions SET submissions = submissions - 1 WHERE user_id = OLD.owner_id;
    IF NOT FOUND THEN
        INSERT INTO user_submissions AS s VALUES (OLD.owner_id, -1)
            ON CONFLICT (user_id) DO UPDATE SET submissions = s.submissions + excluded.submissions;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_listed_in AFTER INSERT ON users REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION users_listed_in();
CREATE OR REPLACE TRIGGER projects_submitted_in AFTER INSERT ON projects REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION projects_submitted_in();
CREATE OR REPLACE TRIGGER projects_submitted_out AFTER DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION projects_submitted_out();
