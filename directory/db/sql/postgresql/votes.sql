-- Votes: the lock, the vote and the counter in one round trip. A volatile function's statements each take a snapshot of
-- their own, unlike the parts of one statement: what is read after the lock is what the lock's last holder left. The
-- rank is that of directory/services/catalog/orders.py.

-- One vote. It holds the voter's account active, so none is counted after a suspension: the lock is the one that the
-- foreign key of a new vote takes, and comes before the project's, as a takedown locks the user before the projects. A
-- vote that is discounted changes no counter; the discount is looked for after the project is locked, under whose lock
-- it is made and lifted.
CREATE OR REPLACE FUNCTION vote(wanted bigint, voter bigint, wish text, cast_at timestamptz)
RETURNS TABLE (project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
    project record;
    removed integer := 0;
    added integer := 0;
BEGIN
    PERFORM 1 FROM users u WHERE u.id = voter AND u.status = 'active' FOR KEY SHARE;
    IF NOT FOUND THEN
        RETURN QUERY SELECT 'suspended'::text, 0::bigint, false, 0::bigint;
        RETURN;
    END IF;
    SELECT p.status, p.owner_id, p.upvotes, p.listed_at INTO project
        FROM projects p WHERE p.id = wanted FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    IF project.status = 'live' THEN
        IF wish <> 'cast' THEN
            DELETE FROM upvotes v WHERE v.user_id = voter AND v.project_id = wanted;
            GET DIAGNOSTICS removed = ROW_COUNT;
        END IF;
        IF wish = 'cast' OR wish = 'toggle' AND removed = 0 THEN
            INSERT INTO upvotes (user_id, project_id, created_at) VALUES (voter, wanted, cast_at)
                ON CONFLICT ON CONSTRAINT pk_upvotes DO NOTHING;
            GET DIAGNOSTICS added = ROW_COUNT;
        END IF;
        IF added <> removed AND NOT EXISTS (
            SELECT FROM vote_discounts d WHERE d.user_id = voter AND d.project_id = wanted
        ) THEN
            project.upvotes := project.upvotes + added - removed;
            UPDATE projects p SET upvotes = project.upvotes,
                hot = log((project.upvotes + 1)::float8) + extract(epoch FROM project.listed_at)::float8 / 604800::float8
                WHERE p.id = wanted;
        END IF;
    END IF;
    RETURN QUERY SELECT project.status::text, project.owner_id,
        wish = 'cast' OR wish = 'toggle' AND removed = 0, project.upvotes;
END $$;

-- For a vote alone: it gives up soon, so that the caller finds out whether the project is locked. The body is the one
-- above, and not a call of it, which would cost more.
DO $do$
BEGIN
    EXECUTE format(
        'CREATE OR REPLACE FUNCTION vote_soon(wanted bigint, voter bigint, wish text, cast_at timestamptz) '
        'RETURNS TABLE (project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint) '
        'LANGUAGE plpgsql VOLATILE SET lock_timeout = 200 AS %L',
        (SELECT prosrc FROM pg_proc WHERE oid = 'vote(bigint, bigint, text, timestamptz)'::regprocedure)
    );
END $do$;

-- The votes of several callers, by one statement for all. All voters are locked, then all projects in the order of
-- their ids, so the statement that counts sees what others have committed. It counts the votes for a project in the
-- order in which they came, and one of a voter at most: where a voter votes again, the rest of the project's votes wait
-- for the next turn. The plan is made once: planning would cost more than counting. A lock that is not to be had soon
-- ends it all: each vote is then tried by itself, so that one project that is held up holds up no other.
CREATE OR REPLACE FUNCTION votes(wanted bigint[], voters bigint[], wishes text[], cast_at timestamptz)
RETURNS TABLE (place bigint, project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE SET lock_timeout = 50 SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    turns bigint;
BEGIN
    PERFORM 1 FROM users u WHERE u.id = ANY (voters) ORDER BY u.id FOR KEY SHARE;
    PERFORM 1 FROM projects p WHERE p.id = ANY (wanted) ORDER BY p.id FOR NO KEY UPDATE;
    SELECT max(each.repeats) INTO turns FROM (
        SELECT count(*) - count(DISTINCT voter) AS repeats FROM unnest(wanted, voters) AS vote (project, voter)
        GROUP BY project
    ) each;
    FOR this_turn IN 0 .. coalesce(turns, 0) LOOP
        RETURN QUERY
        WITH numbered AS (
            SELECT vote.*, row_number() OVER (PARTITION BY project, voter ORDER BY n) > 1 AS repeats
            FROM unnest(wanted, voters, wishes) WITH ORDINALITY AS vote (project, voter, wish, n)
        ), given AS (
            SELECT numbered.*, count(*) FILTER (WHERE repeats) OVER (PARTITION BY project ORDER BY n) AS turn
            FROM numbered
        ), counted AS MATERIALIZED (
            SELECT g.n, g.project, g.voter, p.owner_id, p.upvotes,
                CASE WHEN u.status = 'active' THEN p.status ELSE 'suspended' END AS status,
                v.user_id IS NOT NULL AS was_upvoted,
                CASE
                    WHEN p.status <> 'live' OR u.status IS DISTINCT FROM 'active' THEN 0
                    WHEN v.user_id IS NULL THEN (g.wish <> 'withdraw')::integer
                    ELSE -(g.wish <> 'cast')::integer
                END AS step,
                (NOT EXISTS (
                    SELECT FROM vote_discounts d WHERE d.user_id = g.voter AND d.project_id = g.project
                ))::integer AS weight
            FROM given g
            JOIN projects p ON p.id = g.project
            LEFT JOIN users u ON u.id = g.voter
            LEFT JOIN upvotes v ON v.user_id = g.voter AND v.project_id = g.project
            WHERE g.turn = this_turn
        ), removed AS (
            DELETE FROM upvotes v USING counted c WHERE c.step = -1 AND v.user_id = c.voter AND v.project_id = c.project
        ), added AS (
            INSERT INTO upvotes (user_id, project_id, created_at)
            SELECT c.voter, c.project, cast_at FROM counted c WHERE c.step = 1
        ), sums AS (
            SELECT c.project, c.upvotes + sum(c.step * c.weight) AS upvotes
            FROM counted c GROUP BY c.project, c.upvotes HAVING sum(c.step * c.weight) <> 0
        ), changed AS (
            UPDATE projects p SET upvotes = s.upvotes,
                hot = log((s.upvotes + 1)::float8) + extract(epoch FROM p.listed_at)::float8 / 604800::float8
            FROM sums s WHERE p.id = s.project
        )
        SELECT c.n, c.status::text, c.owner_id, c.was_upvoted <> (c.step <> 0),
            c.upvotes + sum(c.step * c.weight) OVER (PARTITION BY c.project ORDER BY c.n)
        FROM counted c;
    END LOOP;
END $$;

-- The votes of which neither the project nor the voter is locked by another transaction. For the others `project_status`
-- is null, and `now_upvoted` tells whether the project was free. Projects are locked first and in their order.
CREATE OR REPLACE FUNCTION votes_if_free(wanted bigint[], voters bigint[], wishes text[], cast_at timestamptz)
RETURNS TABLE (place bigint, project_status text, project_owner bigint, now_upvoted boolean, now_upvotes bigint)
LANGUAGE plpgsql VOLATILE SET lock_timeout = 50 AS $$
DECLARE
    ballot record;
    free boolean;
BEGIN
    FOR ballot IN
        SELECT * FROM unnest(wanted, voters, wishes) WITH ORDINALITY AS given (project, voter, wish, n)
        ORDER BY project, n
    LOOP
        PERFORM 1 FROM projects p WHERE p.id = ballot.project FOR NO KEY UPDATE SKIP LOCKED;
        free := FOUND OR NOT EXISTS (SELECT 1 FROM projects p WHERE p.id = ballot.project);
        IF free THEN
            PERFORM 1 FROM users u WHERE u.id = ballot.voter FOR KEY SHARE SKIP LOCKED;
        END IF;
        IF free AND FOUND THEN
            RETURN QUERY SELECT ballot.n, v.* FROM vote(ballot.project, ballot.voter, ballot.wish, cast_at) v;
        ELSE
            RETURN QUERY SELECT ballot.n, NULL::text, NULL::bigint, free, NULL::bigint;
        END IF;
    END LOOP;
END $$;
