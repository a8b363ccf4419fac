-- How many projects there are of each user.

CREATE TRIGGER users_listed_in AFTER INSERT ON users
BEGIN
    INSERT INTO user_submissions VALUES (NEW.id, 0);
END;

CREATE TRIGGER projects_submitted_in AFTER INSERT ON projects
BEGIN
    UPDATE user_submissions SET submissions = submissions + 1 WHERE user_id = NEW.owner_id;
END;

CREATE TRIGGER projects_submitted_out AFTER DELETE ON projects
BEGIN
    UPDATE user_submissions SET submissions = submissions - 1 WHERE user_id = OLD.owner_id;
END;
