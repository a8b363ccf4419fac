-- How many votes, registrations and entries of the log each day has, by UTC: what the dashboard sums over a year. Votes
-- of the present day are not counted, so that a vote costs nothing more (directory/services/day_counts.py).
--
-- Rows are only added, so that writers do not wait for each other; one change in a hundred replaces the rows of its kind
-- by a sum for each day: of its own day, and of the month before, which had fewer changes than a sum needs.

CREATE OR REPLACE FUNCTION count_days() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    step bigint := CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END;
BEGIN
    INSERT INTO day_counts (kind, day, number)
        SELECT TG_ARGV[0], (r.created_at AT TIME ZONE 'UTC')::date AS day, step * count(*) FROM those r GROUP BY day;
    IF FOUND AND random() < 0.01 THEN
        PERFORM sum_days(ARRAY[TG_ARGV[0]], min(r.created_at AT TIME ZONE 'UTC')::date - 30) FROM those r;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_vote_of_day() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    present date := (now() AT TIME ZONE 'UTC')::date;
    before date;
    after date;
BEGIN
    IF TG_OP <> 'INSERT' THEN
        before := (OLD.created_at AT TIME ZONE 'UTC')::date;
        INSERT INTO day_counts (kind, day, number) SELECT 'upvotes', before, -1 WHERE before < present;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        after := (NEW.created_at AT TIME ZONE 'UTC')::date;
        INSERT INTO day_counts (kind, day, number) SELECT 'upvotes', after, 1 WHERE after < present;
    END IF;
    IF random() < 0.01 THEN
        PERFORM sum_days(ARRAY['upvotes'], coalesce(before, after), coalesce(before, after));
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION count_days_of_log() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    step bigint := CASE TG_OP WHEN 'DELETE' THEN -1 ELSE 1 END;
BEGIN
    INSERT INTO day_counts (kind, day, number)
        SELECT r.action, (r.at AT TIME ZONE 'UTC')::date AS day, step * count(*) FROM those r GROUP BY r.action, day;
    IF FOUND AND random() < 0.01 THEN
        PERFORM sum_days(array_agg(r.action::text), min(r.at AT TIME ZONE 'UTC')::date - 30) FROM those r;
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION move_between_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO day_counts (kind, day, number) VALUES
        (TG_ARGV[0], (OLD.created_at AT TIME ZONE 'UTC')::date, -1),
        (TG_ARGV[0], (NEW.created_at AT TIME ZONE 'UTC')::date, 1);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION sum_days(kinds text[], since date, until date DEFAULT 'infinity') RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    WITH summed AS (
        DELETE FROM day_counts WHERE ctid = ANY (
            ARRAY(SELECT c.ctid FROM day_counts c WHERE c.kind = ANY (kinds) AND c.day BETWEEN since AND until
                FOR UPDATE SKIP LOCKED)
        ) RETURNING kind, day, number
    )
    INSERT INTO day_counts (kind, day, number) SELECT kind, day, sum(number) FROM summed GROUP BY kind, day;
END $$;

CREATE OR REPLACE FUNCTION forget_days() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM day_counts WHERE kind = TG_ARGV[0];
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER upvotes_days_in AFTER INSERT ON upvotes
    FOR EACH ROW WHEN (NEW.created_at < date_trunc('day', now(), 'UTC')) EXECUTE FUNCTION count_vote_of_day();
CREATE OR REPLACE TRIGGER upvotes_days_out AFTER DELETE ON upvotes
    FOR EACH ROW WHEN (OLD.created_at < date_trunc('day', now(), 'UTC')) EXECUTE FUNCTION count_vote_of_day();
CREATE OR REPLACE TRIGGER upvotes_days_over AFTER UPDATE OF created_at ON upvotes
    FOR EACH ROW EXECUTE FUNCTION count_vote_of_day();
CREATE OR REPLACE TRIGGER upvotes_days_truncated AFTER TRUNCATE ON upvotes
    FOR EACH STATEMENT EXECUTE FUNCTION forget_days('upvotes');
CREATE OR REPLACE TRIGGER users_days_in AFTER INSERT ON users REFERENCING NEW TABLE AS those
    FOR EACH STATEMENT EXECUTE FUNCTION count_days('signups');
CREATE OR REPLACE TRIGGER users_days_out AFTER DELETE ON users REFERENCING OLD TABLE AS those
    FOR EACH STATEMENT EXECUTE FUNCTION count_days('signups');
CREATE OR REPLACE TRIGGER users_days_over AFTER UPDATE OF created_at ON users
    FOR EACH ROW EXECUTE FUNCTION move_between_days('signups');
CREATE OR REPLACE TRIGGER audit_entries_days_in AFTER INSERT ON audit_entries REFERENCING NEW TABLE AS those
    FOR EACH STATEMENT EXECUTE FUNCTION count_days_of_log();
CREATE OR REPLACE TRIGGER audit_entries_days_out AFTER DELETE ON audit_entries REFERENCING OLD TABLE AS those
    FOR EACH STATEMENT EXECUTE FUNCTION count_days_of_log();
