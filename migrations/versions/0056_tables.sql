-- The tables that came after release 0.1.0, in the words of PostgreSQL; 0056 puts those of SQLite in their place.
-- Tables are apart by an empty line, each followed by its indexes.

CREATE TABLE audit_retention (
    "before" TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_audit_retention PRIMARY KEY ("before")
);

CREATE TABLE logos (
    digest VARCHAR(64) NOT NULL, small_digest VARCHAR(64) NOT NULL, large BYTEA NOT NULL, small BYTEA NOT NULL,
    stored_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_logos PRIMARY KEY (digest),
    CONSTRAINT uq_logos_small_digest UNIQUE (small_digest)
);
CREATE INDEX ix_logos_stored_at ON logos (stored_at);

CREATE TABLE rule_previews (
    digest VARCHAR(64) NOT NULL, at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_rule_previews PRIMARY KEY (digest)
);
CREATE INDEX ix_rule_previews_at ON rule_previews (at);

CREATE TABLE rules (
    id BIGSERIAL CONSTRAINT pk_rules PRIMARY KEY, name VARCHAR(60) NOT NULL, judges JSONB NOT NULL,
    conditions JSON NOT NULL, effect VARCHAR(16) NOT NULL, reason VARCHAR(1000), state VARCHAR(16) NOT NULL,
    version BIGINT NOT NULL, changed_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT ck_rules_effect CHECK (effect IN ('mark', 'hold', 'reject')),
    CONSTRAINT ck_rules_state CHECK (state IN ('off', 'dry', 'on')),
    CONSTRAINT ck_rules_reason CHECK ((effect = 'reject') = (reason IS NOT NULL)),
    CONSTRAINT uq_rules_name UNIQUE (name)
);

CREATE TABLE saved_replies (
    id BIGSERIAL CONSTRAINT pk_saved_replies PRIMARY KEY, name VARCHAR(60) NOT NULL, decision VARCHAR(16) NOT NULL,
    text TEXT NOT NULL,
    CONSTRAINT uq_saved_replies_name UNIQUE (name),
    CONSTRAINT ck_saved_replies_decision CHECK (decision IN ('reject', 'request_changes', 'unpublish'))
);

CREATE TABLE category_slugs (
    slug VARCHAR(50) NOT NULL, category_id BIGINT NOT NULL,
    CONSTRAINT pk_category_slugs PRIMARY KEY (slug),
    CONSTRAINT fk_category_slugs_category_id_categories FOREIGN KEY (category_id)
        REFERENCES categories (id) ON DELETE CASCADE
);
CREATE INDEX ix_category_slugs_category_id ON category_slugs (category_id);

CREATE TABLE identities (
    id BIGSERIAL CONSTRAINT pk_identities PRIMARY KEY, user_id BIGINT NOT NULL, issuer VARCHAR(500) NOT NULL,
    subject VARCHAR(255) NOT NULL, email VARCHAR(254), created_at TIMESTAMP WITH TIME ZONE NOT NULL,
    last_used_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT uq_identities_issuer_subject UNIQUE (issuer, subject),
    CONSTRAINT fk_identities_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_identities_user_id ON identities (user_id);

CREATE TABLE mail_links (
    id BIGSERIAL CONSTRAINT pk_mail_links PRIMARY KEY, user_id BIGINT, purpose VARCHAR(16) NOT NULL,
    email VARCHAR(254) NOT NULL, nonce VARCHAR(64) NOT NULL, token_hash VARCHAR(64) NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL, expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT ck_mail_links_purpose CHECK (purpose IN ('reset', 'verify', 'email_changed', 'password_changed', 'passkey_added', 'passkey_removed')),
    CONSTRAINT uq_mail_links_token_hash UNIQUE (token_hash),
    CONSTRAINT fk_mail_links_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_mail_links_expires_at ON mail_links (expires_at);
CREATE INDEX ix_mail_links_user_id ON mail_links (user_id);

CREATE TABLE passkeys (
    id BIGSERIAL CONSTRAINT pk_passkeys PRIMARY KEY, user_id BIGINT NOT NULL, credential_id VARCHAR(1400) NOT NULL,
    public_key VARCHAR(2000) NOT NULL, sign_count BIGINT NOT NULL, name VARCHAR(100) NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL, last_used_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT uq_passkeys_credential_id UNIQUE (credential_id),
    CONSTRAINT fk_passkeys_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_passkeys_user_id ON passkeys (user_id);

CREATE TABLE reports (
    id BIGSERIAL CONSTRAINT pk_reports PRIMARY KEY, project_id BIGINT NOT NULL, project_title VARCHAR(100),
    reporter_id BIGINT, address_key VARCHAR(64), kind VARCHAR(16) NOT NULL, text VARCHAR(1000) NOT NULL,
    created_at TIMESTAMP WITH TIME ZONE NOT NULL, outcome VARCHAR(16), reply VARCHAR(1000),
    settled_at TIMESTAMP WITH TIME ZONE,
    CONSTRAINT ck_reports_kind CHECK (kind IN ('broken_link', 'spam', 'harmful', 'wrong_facts', 'mine', 'other')),
    CONSTRAINT ck_reports_outcome CHECK (outcome IN ('acted', 'unfounded')),
    CONSTRAINT ck_reports_settled CHECK ((settled_at IS NULL) = (outcome IS NULL)),
    CONSTRAINT ck_reports_address_key CHECK (address_key IS NULL OR (reporter_id IS NULL AND settled_at IS NULL)),
    CONSTRAINT fk_reports_reporter_id_users FOREIGN KEY (reporter_id) REFERENCES users (id) ON DELETE RESTRICT
);
CREATE INDEX ix_reports_of_nobody ON reports (settled_at) WHERE reporter_id IS NULL;
CREATE INDEX ix_reports_open ON reports (id) WHERE settled_at IS NULL;
CREATE INDEX ix_reports_project_id_settled_at_id ON reports (project_id, settled_at, id);
CREATE INDEX ix_reports_reporter_id_id ON reports (reporter_id, id);
CREATE INDEX ix_reports_settled_at_id ON reports (settled_at, id) WHERE settled_at IS NOT NULL;
CREATE UNIQUE INDEX uq_reports_of_address ON reports (project_id, address_key) WHERE settled_at IS NULL;
CREATE UNIQUE INDEX uq_reports_of_member ON reports (project_id, reporter_id) WHERE settled_at IS NULL;

CREATE TABLE rule_days (
    rule_id BIGINT NOT NULL, day DATE NOT NULL, matched BIGINT NOT NULL,
    CONSTRAINT pk_rule_days PRIMARY KEY (rule_id, day),
    CONSTRAINT fk_rule_days_rule_id_rules FOREIGN KEY (rule_id) REFERENCES rules (id) ON DELETE CASCADE
);

CREATE TABLE rule_facts (
    id BIGSERIAL CONSTRAINT pk_rule_facts PRIMARY KEY, kind VARCHAR(16) NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL, project_id BIGINT, account_id BIGINT NOT NULL, facts JSON NOT NULL,
    words BYTEA NOT NULL,
    CONSTRAINT ck_rule_facts_kind CHECK (kind IN ('submission', 'edit', 'registration')),
    CONSTRAINT fk_rule_facts_account_id_users FOREIGN KEY (account_id) REFERENCES users (id) ON DELETE RESTRICT
);
CREATE INDEX ix_rule_facts_account_id_at ON rule_facts (account_id, at);
CREATE INDEX ix_rule_facts_kind_at ON rule_facts (kind, at);

CREATE TABLE sign_in_attempts (
    id BIGSERIAL CONSTRAINT pk_sign_in_attempts PRIMARY KEY, state_hash VARCHAR(64) NOT NULL,
    browser_hash VARCHAR(64) NOT NULL, provider VARCHAR(16) NOT NULL, next_path VARCHAR(1000) NOT NULL,
    user_id BIGINT, created_at TIMESTAMP WITH TIME ZONE NOT NULL, expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT uq_sign_in_attempts_state_hash UNIQUE (state_hash),
    CONSTRAINT fk_sign_in_attempts_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
);
CREATE INDEX ix_sign_in_attempts_expires_at ON sign_in_attempts (expires_at);
CREATE INDEX ix_sign_in_attempts_user_id ON sign_in_attempts (user_id);

CREATE TABLE approvals (
    project_id BIGINT NOT NULL, user_id BIGINT NOT NULL, version BIGINT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_approvals PRIMARY KEY (project_id, user_id),
    CONSTRAINT fk_approvals_project_id_projects FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
    CONSTRAINT fk_approvals_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE RESTRICT
);
CREATE INDEX ix_approvals_user_id ON approvals (user_id);

CREATE TABLE messages (
    id BIGSERIAL CONSTRAINT pk_messages PRIMARY KEY, project_id BIGINT NOT NULL,
    at TIMESTAMP WITH TIME ZONE NOT NULL, sender VARCHAR(16) NOT NULL, kind VARCHAR(20) NOT NULL, text TEXT NOT NULL,
    author_id BIGINT, unread_by BIGINT,
    CONSTRAINT ck_messages_sender CHECK (sender IN ('owner', 'reviewers', 'service')),
    CONSTRAINT ck_messages_kind CHECK (kind IN ('message', 'note', 'changes_requested', 'approved', 'rejected', 'unpublished', 'appeal', 'appeal_upheld', 'appeal_reversed')),
    CONSTRAINT fk_messages_project_id_projects FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
    CONSTRAINT fk_messages_author_id_users FOREIGN KEY (author_id) REFERENCES users (id) ON DELETE RESTRICT
);
CREATE INDEX ix_messages_author_id ON messages (author_id);
CREATE INDEX ix_messages_project_id_id ON messages (project_id, id);
CREATE INDEX ix_messages_unread ON messages (unread_by) WHERE unread_by IS NOT NULL;

CREATE TABLE passkey_challenges (
    id BIGSERIAL CONSTRAINT pk_passkey_challenges PRIMARY KEY, challenge_hash VARCHAR(64) NOT NULL,
    session_id BIGINT, created_at TIMESTAMP WITH TIME ZONE NOT NULL, expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT uq_passkey_challenges_challenge_hash UNIQUE (challenge_hash),
    CONSTRAINT fk_passkey_challenges_session_id_sessions FOREIGN KEY (session_id)
        REFERENCES sessions (id) ON DELETE CASCADE
);
CREATE INDEX ix_passkey_challenges_expires_at ON passkey_challenges (expires_at);
CREATE INDEX ix_passkey_challenges_session_id ON passkey_challenges (session_id);

CREATE TABLE picture_uses (
    project_id BIGINT NOT NULL, is_held BOOLEAN NOT NULL, digest VARCHAR(64) NOT NULL,
    CONSTRAINT pk_picture_uses PRIMARY KEY (project_id, is_held, digest),
    CONSTRAINT fk_picture_uses_project_id_projects FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
    CONSTRAINT fk_picture_uses_digest_logos FOREIGN KEY (digest) REFERENCES logos (digest)
);
CREATE INDEX ix_picture_uses_digest ON picture_uses (digest);

CREATE TABLE review_claims (
    project_id BIGINT NOT NULL, user_id BIGINT NOT NULL, version BIGINT NOT NULL,
    until TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT pk_review_claims PRIMARY KEY (project_id),
    CONSTRAINT fk_review_claims_project_id_projects FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE,
    CONSTRAINT fk_review_claims_user_id_users FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE RESTRICT
);
CREATE INDEX ix_review_claims_until ON review_claims (until);
CREATE INDEX ix_review_claims_user_id ON review_claims (user_id);

CREATE TABLE revisions (
    project_id BIGINT NOT NULL, changes JSON NOT NULL, category VARCHAR(50), logo VARCHAR(64),
    submitted_at TIMESTAMP WITH TIME ZONE, reason VARCHAR(1000), rejected JSON, owner_since TIMESTAMP WITH TIME ZONE,
    closes_at TIMESTAMP WITH TIME ZONE, change_requests INTEGER DEFAULT 0 NOT NULL,
    held_until TIMESTAMP WITH TIME ZONE, measured_from TIMESTAMP WITH TIME ZONE,
    waited_since TIMESTAMP WITH TIME ZONE,
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

CREATE TABLE rule_actions (
    id BIGSERIAL CONSTRAINT pk_rule_actions PRIMARY KEY, rule_id BIGINT NOT NULL, rule_name VARCHAR(60) NOT NULL,
    project_id BIGINT NOT NULL, of_revision BOOLEAN NOT NULL, effect VARCHAR(16) NOT NULL, acted BOOLEAN NOT NULL,
    version BIGINT NOT NULL, at TIMESTAMP WITH TIME ZONE NOT NULL,
    CONSTRAINT ck_rule_actions_effect CHECK (effect IN ('mark', 'hold', 'reject')),
    CONSTRAINT fk_rule_actions_project_id_projects FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE
);
CREATE INDEX ix_rule_actions_project_id ON rule_actions (project_id);
CREATE INDEX ix_rule_actions_rule_id_at ON rule_actions (rule_id, at);

CREATE TABLE vote_discounts (
    user_id BIGINT NOT NULL, project_id BIGINT NOT NULL,
    CONSTRAINT pk_vote_discounts PRIMARY KEY (user_id, project_id),
    CONSTRAINT fk_vote_discounts_project_id_projects FOREIGN KEY (project_id) REFERENCES projects (id) ON DELETE CASCADE
);
CREATE INDEX ix_vote_discounts_project_id ON vote_discounts (project_id);
