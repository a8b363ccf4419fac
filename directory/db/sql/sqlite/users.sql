-- How many users there are of each role and status.

CREATE TRIGGER users_counted_in AFTER INSERT ON users
BEGIN
    INSERT INTO user_counts (role, status, users) VALUES (NEW.role, NEW.status, 1)
    ON CONFLICT (role, status) DO UPDATE SET users = users + 1;
END;

CREATE TRIGGER users_counted_out AFTER DELETE ON users
BEGIN
    UPDATE user_counts SET users = users - 1 WHERE role = OLD.role AND status = OLD.status;
END;

CREATE TRIGGER users_counted_over AFTER UPDATE OF role, status ON users
WHEN OLD.role <> NEW.role OR OLD.status <> NEW.status
BEGIN
    UPDATE user_counts SET users = users - 1 WHERE role = OLD.role AND status = OLD.status;
    INSERT INTO user_counts (role, status, users) VALUES (NEW.role, NEW.status, 1)
    ON CONFLICT (role, status) DO UPDATE SET users = users + 1;
END;
