-- How the projects stand by votes: a copy of their state, category, votes and rank, from which lists by votes are read.

CREATE TRIGGER projects_ranked_in AFTER INSERT ON projects
BEGIN
    INSERT INTO standings VALUES (NEW.id, NEW.status, NEW.category_id, NEW.upvotes, NEW.hot);
END;

CREATE TRIGGER projects_ranked_over AFTER UPDATE OF status, category_id, upvotes, hot ON projects
WHEN OLD.status <> NEW.status OR OLD.category_id <> NEW.category_id OR OLD.upvotes <> NEW.upvotes OR OLD.hot <> NEW.hot
BEGIN
    UPDATE standings SET status = NEW.status, category_id = NEW.category_id, upvotes = NEW.upvotes, hot = NEW.hot
    WHERE project_id = NEW.id;
END;
