-- A row for the last use of each account, which is never until the first sign-in.

CREATE OR REPLACE FUNCTION users_unseen_in() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO last_uses SELECT id, 'epoch' FROM added;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER users_unseen_in AFTER INSERT ON users REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION users_unseen_in();
