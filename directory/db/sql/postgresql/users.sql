-- How many users there are of each role and status.
--
-- As with the categories, insertions are counted by the statement and other changes by the row. Counters are locked in
-- one order, so that two users who change places between two kinds do not wait for each other.

CREATE OR REPLACE FUNCTION users_counted_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO user_counts (role, status, users)
        SELECT role, status, count(*) FROM added GROUP BY role, status ORDER BY role, status
        ON CONFLICT (role, status) DO UPDATE SET users = user_counts.users + excluded.users;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION users_counted_out() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE user_counts SET users = users - 1 WHERE role = OLD.role AND status = OLD.status;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION users_counted_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM 1 FROM user_counts WHERE (role, status) IN ((OLD.role, OLD.status), (NEW.role, NEW.status))
        ORDER BY role, status FOR NO KEY UPDATE;
    UPDATE user_counts SET users = users - 1 WHERE role = OLD.role AND status = OLD.status;
    INSERT INTO user_counts (role, status, users) VALUES (NEW.role, NEW.status, 1)
        ON CONFLICT (role, status) DO UPDATE SET users = user_counts.users + 1;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_counted_in AFTER INSERT ON users REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION users_counted_in();
CREATE OR REPLACE TRIGGER users_counted_out AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION users_counted_out();
CREATE OR REPLACE TRIGGER users_counted_over AFTER UPDATE OF role, status ON users
    FOR EACH ROW WHEN (OLD.role <> NEW.role OR OLD.status <> NEW.status) EXECUTE FUNCTION users_counted_over();
