-- The last entry of a thread, notes aside, is unanswered if it is the owner's. Whoever adds one has locked the project;
-- a copy of a database adds them in any order.

CREATE OR REPLACE FUNCTION messages_answered() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE messages SET is_unanswered = false WHERE project_id = NEW.project_id AND is_unanswered AND id < NEW.id;
    UPDATE messages SET is_unanswered = true WHERE id = NEW.id AND sender = 'owner' AND NOT EXISTS (
        SELECT FROM messages AS later
        WHERE later.project_id = NEW.project_id AND later.id > NEW.id AND later.kind <> 'note');
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER messages_answered AFTER INSERT ON messages
    FOR EACH ROW WHEN (NEW.kind <> 'note') EXECUTE FUNCTION messages_answered();
