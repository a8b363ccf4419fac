-- How the projects stand by votes: a copy of their state, category, votes and rank, from which lists by votes are read.
--
-- A standing that is missing is made again, because only its change is noted. One trigger follows votes and one all
-- else, so that a vote sets no column of `standings` besides its own. They have no condition, though an update that
-- changes nothing is rare: PostgreSQL reads a trigger's condition from its text for each statement, which would make a
-- vote a tenth dearer.

CREATE OR REPLACE FUNCTION projects_ranked_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO standings SELECT id, status, category_id, upvotes, hot FROM added;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_ranked_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE standings SET upvotes = NEW.upvotes, hot = NEW.hot WHERE project_id = NEW.id;
    IF NOT FOUND THEN
        INSERT INTO standings (project_id, status, category_id, upvotes, hot)
            VALUES (NEW.id, NEW.status, NEW.category_id, NEW.upvotes, NEW.hot);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_placed_over() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE standings SET status = NEW.status, category_id = NEW.category_id WHERE project_id = NEW.id;
    IF NOT FOUND THEN
        INSERT INTO standings (project_id, status, category_id, upvotes, hot)
            VALUES (NEW.id, NEW.status, NEW.category_id, NEW.upvotes, NEW.hot);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_ranked_in AFTER INSERT ON projects REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION projects_ranked_in();
CREATE OR REPLACE TRIGGER projects_ranked_over AFTER UPDATE OF upvotes, hot ON projects
    FOR EACH ROW EXECUTE FUNCTION projects_ranked_over();
CREATE OR REPLACE TRIGGER projects_placed_over AFTER UPDATE OF status, category_id ON projects
    FOR EACH ROW EXECUTE FUNCTION projects_placed_over();
-- Also for what a replication writes, because what is noted of a change of votes is noted at `standings`.
ALTER TABLE projects ENABLE ALWAYS TRIGGER projects_ranked_over;
ALTER TABLE projects ENABLE ALWAYS TRIGGER projects_placed_over;
