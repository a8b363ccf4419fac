-- The tables that have no model, and their indexes.

-- A row says which transaction changed a project's votes, from `low` to `high` or back; a row without a project says
-- that anything may have changed. It is of no use after a crash, so it is not logged.
CREATE UNLOGGED TABLE changes (
    transaction xid8 NOT NULL DEFAULT pg_current_xact_id(), project_id bigint, low bigint, high bigint, category_id bigint
);
CREATE INDEX ix_changes_transaction ON changes (transaction);

CREATE TABLE project_search (
    project_id bigint CONSTRAINT pk_project_search PRIMARY KEY
        CONSTRAINT fk_project_search_project_id_projects REFERENCES projects (id) ON DELETE CASCADE,
    document tsvector NOT NULL,
    live boolean NOT NULL DEFAULT true
);
CREATE INDEX ix_project_search_document ON project_search USING gin (document);
-- Of each 65,536 ids 4,096 in a row, so that the entries stand on few pages.
CREATE INDEX ix_project_search_sample ON project_search USING gin (document) WHERE live AND (project_id & 65535) < 4096;
CREATE INDEX ix_project_search_title ON project_search USING gin (ts_filter(document, '{a}'));
CREATE INDEX ix_project_search_brief ON project_search USING gin (ts_filter(document, '{a,b}'));

CREATE TABLE project_search_removals (projects bigint NOT NULL);
INSERT INTO project_search_removals VALUES (0);

-- Room for a second version of a row next to the first, where it needs no entry in any index: votes write rows of it.
ALTER TABLE projects SET (fillfactor = 85);
