-- How many live projects carry each tag.
--
-- Tags are counted one by one in their order, so that two transactions that share tags never wait for each other in a
-- ring. Triggers of one event run in the order of their names, so the category (projects_counted_…) comes before the
-- tags. A transaction that changes several projects locks all categories and then all tags before
-- (directory/services/catalog/counters.py). Insertions are counted by the statement, as those of the categories are.

-- Zero locks the counter of a tag, which is added where it is missing.
CREATE OR REPLACE FUNCTION count_tag(counted text, difference bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE tag_counts SET live_projects = live_projects + difference WHERE tag = counted;
    IF NOT FOUND THEN
        INSERT INTO tag_counts AS c (tag, live_projects) VALUES (counted, difference)
            ON CONFLICT (tag) DO UPDATE SET live_projects = c.live_projects + difference;
    END IF;
END $$;

CREATE OR REPLACE FUNCTION projects_tags_counted_in() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counted record;
BEGIN
    FOR counted IN
        SELECT tag, count(*) AS n FROM added, jsonb_array_elements_text(added.tags) AS t (tag)
        WHERE added.status = 'live' GROUP BY tag ORDER BY tag COLLATE "C"
    LOOP
        PERFORM count_tag(counted.tag, counted.n);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_tags_counted_out() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counted record;
BEGIN
    FOR counted IN SELECT tag FROM jsonb_array_elements_text(OLD.tags) AS t (tag) ORDER BY tag COLLATE "C"
    LOOP
        PERFORM count_tag(counted.tag, -1);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION projects_tags_counted_over() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counted record;
BEGIN
    FOR counted IN
        SELECT tag, sum(n) AS difference FROM (
            SELECT jsonb_array_elements_text(OLD.tags), -1 WHERE OLD.status = 'live'
            UNION ALL SELECT jsonb_array_elements_text(NEW.tags), 1 WHERE NEW.status = 'live'
        ) AS changes (tag, n)
        GROUP BY tag HAVING sum(n) <> 0 ORDER BY tag COLLATE "C"
    LOOP
        PERFORM count_tag(counted.tag, counted.difference::bigint);
    END LOOP;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER projects_tags_counted_in AFTER INSERT ON projects REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION projects_tags_counted_in();
CREATE OR REPLACE TRIGGER projects_tags_counted_out AFTER DELETE ON projects
    FOR EACH ROW WHEN (OLD.status = 'live') EXECUTE FUNCTION projects_tags_counted_out();
CREATE OR REPLACE TRIGGER projects_tags_counted_over AFTER UPDATE OF status, tags ON projects FOR EACH ROW
    WHEN ((OLD.status = 'live' OR NEW.status = 'live') AND (OLD.status <> NEW.status OR OLD.tags <> NEW.tags))
    EXECUTE FUNCTION projects_tags_counted_over();
