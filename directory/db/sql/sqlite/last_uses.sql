-- A row for the last use of each account, which is never until the first sign-in.

CREATE TRIGGER users_unseen_in AFTER INSERT ON users
BEGIN
    INSERT INTO last_uses VALUES (NEW.id, '1970-01-01 00:00:00.000000');
END;
