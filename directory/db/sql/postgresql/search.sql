-- The search index: whether the project of an entry is live, and what a search asks of the words.

CREATE OR REPLACE FUNCTION project_search_live() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.live := (SELECT p.status = 'live' FROM projects p WHERE p.id = NEW.project_id);
    RETURN NEW;
END $$;

CREATE OR REPLACE FUNCTION project_search_follows_status() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE project_search SET live = (NEW.status = 'live') WHERE project_id = NEW.id;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER project_search_live BEFORE INSERT OR UPDATE OF document ON project_search
    FOR EACH ROW EXECUTE FUNCTION project_search_live();
CREATE OR REPLACE TRIGGER project_search_follows_status AFTER UPDATE OF status ON projects
    FOR EACH ROW WHEN (OLD.status <> NEW.status) EXECUTE FUNCTION project_search_follows_status();

-- How many projects match, at most so many. The planner may read the table instead, or a tree of it: right where it
-- knows how many entries have the word, and for the beginning of a word it does not. So it is left the index of words
-- alone. A sample of the index tells soon where very many match; for the index of all, whose matches are all read before
-- the first is given, they are too many.
CREATE OR REPLACE FUNCTION search_matches(query tsquery, only_live boolean, most bigint) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
DECLARE
    found bigint;
BEGIN
    SELECT count(*) INTO found FROM (
        SELECT 1 FROM project_search WHERE live AND (project_id & 65535) < 4096 AND document @@ query LIMIT most
    ) AS those;
    IF found < most AND only_live THEN
        SELECT count(*) INTO found FROM (
            SELECT 1 FROM project_search WHERE live AND document @@ query LIMIT most
        ) AS those;
    ELSIF found < most THEN
        SELECT count(*) INTO found FROM (SELECT 1 FROM project_search WHERE document @@ query LIMIT most) AS those;
    END IF;
    RETURN found;
END $$;

-- The projects that match in the title (a) or in title, tagline and tags (ab), some of them.
CREATE OR REPLACE FUNCTION search_leading(scope text, query tsquery, most bigint) RETURNS SETOF bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    IF scope = 'title' THEN
        RETURN QUERY SELECT e.project_id FROM project_search e WHERE ts_filter(e.document, '{a}') @@ query LIMIT most;
    ELSE
        RETURN QUERY SELECT e.project_id FROM project_search e WHERE ts_filter(e.document, '{a,b}') @@ query LIMIT most;
    END IF;
END $$;

-- Which of the words a live project has outside of its description, looked for in some of the projects that have the
-- word. It looks up the many spellings of "did you mean": a call for each took ten times as long.
CREATE OR REPLACE FUNCTION search_known_words(words text[], most bigint) RETURNS SETOF text
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off AS $$
BEGIN
    RETURN QUERY SELECT word FROM unnest(words) AS given(word) WHERE EXISTS (
        SELECT FROM (
            SELECT e.live FROM project_search e
            WHERE ts_filter(e.document, '{a,b}') @@ CAST(quote_literal(word) AS tsquery) LIMIT most
        ) AS named WHERE named.live
    );
END $$;
