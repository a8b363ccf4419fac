CREATE TABLE revisions (
    project_id BIGINT NOT NULL, changes JSON NOT NULL, category VARCHAR(50), logo VARCHAR(64), submitted_at INSTANT,
    reason VARCHAR(1000), rejected JSON, owner_since INSTANT, closes_at INSTANT,
    change_requests INTEGER DEFAULT 0 NOT NULL, held_until INSTANT, measured_from INSTANT, waited_since INSTANT,
    reminded_at INSTANT,
    CONSTRAINT pk_revisions PRIMARY KEY (project_id),
    CONSTRAINT ck_revisions_reason CHECK (submitted_at IS NULL OR reason IS NULL),
    CONSTRAINT ck_revisions_category CHECK (submitted_at IS NOT NULL OR category IS NULL),
    CONSTRAINT fk_revisions_project_id_projects FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
    CONSTRAINT fk_revisions_category_categories FOREIGN KEY (category)
        REFERENCES categories (slug) ON DELETE RESTRICT ON UPDATE CASCADE,
    CONSTRAINT fk_revisions_logo_logos FOREIGN KEY (logo) REFERENCES logos (digest)
);
CREATE INDEX ix_revisions_category ON revisions (category);
CREATE INDEX ix_revisions_closes_at ON revisions (closes_at) WHERE closes_at IS NOT NULL;
CREATE INDEX ix_revisions_held_until ON revisions (held_until) WHERE held_until IS NOT NULL;
CREATE INDEX ix_revisions_logo ON revisions (logo) WHERE logo IS NOT NULL;
CREATE INDEX ix_revisions_submitted_at_project_id ON revisions (submitted_at, project_id) WHERE submitted_at IS NOT NULL;
