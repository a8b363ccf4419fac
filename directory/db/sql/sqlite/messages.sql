-- The last entry of a thread, notes aside, is unanswered if it is the owner's. A copy of a database adds entries in any
-- order.

CREATE TRIGGER messages_answered AFTER INSERT ON messages WHEN NEW.kind <> 'note'
BEGIN
    UPDATE messages SET is_unanswered = 0 WHERE project_id = NEW.project_id AND is_unanswered = 1 AND id < NEW.id;
    UPDATE messages SET is_unanswered = 1 WHERE id = NEW.id AND sender = 'owner' AND NOT EXISTS (
        SELECT 1 FROM messages AS later
        WHERE later.project_id = NEW.project_id AND later.id > NEW.id AND later.kind <> 'note');
END;
