-- How many votes, registrations and entries of the log each day has, by UTC: what the dashboard sums over a year. Votes
-- of the present day are not counted, so that a vote costs nothing more (directory/services/day_counts.py).

CREATE TRIGGER upvotes_days_in AFTER INSERT ON upvotes WHEN NEW.created_at < date('now')
BEGIN
    INSERT INTO day_counts (kind, day, number) SELECT 'upvotes', date(NEW.created_at), 0
    WHERE NOT EXISTS (SELECT 1 FROM day_counts WHERE kind = 'upvotes' AND day = date(NEW.created_at));
    UPDATE day_counts SET number = number + 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'upvotes' AND day = date(NEW.created_at));
END;

CREATE TRIGGER upvotes_days_out AFTER DELETE ON upvotes WHEN OLD.created_at < date('now')
BEGIN
    UPDATE day_counts SET number = number - 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'upvotes' AND day = date(OLD.created_at));
END;

CREATE TRIGGER upvotes_days_over AFTER UPDATE OF created_at ON upvotes
BEGIN
    UPDATE day_counts SET number = number - 1
    WHERE OLD.created_at < date('now') AND rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'upvotes' AND day = date(OLD.created_at));
    INSERT INTO day_counts (kind, day, number) SELECT 'upvotes', date(NEW.created_at), 0
    WHERE NEW.created_at < date('now') AND NOT EXISTS (SELECT 1 FROM day_counts WHERE kind = 'upvotes' AND day = date(NEW.created_at));
    UPDATE day_counts SET number = number + 1
    WHERE NEW.created_at < date('now') AND rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'upvotes' AND day = date(NEW.created_at));
END;

CREATE TRIGGER users_days_in AFTER INSERT ON users
BEGIN
    INSERT INTO day_counts (kind, day, number) SELECT 'signups', date(NEW.created_at), 0
    WHERE NOT EXISTS (SELECT 1 FROM day_counts WHERE kind = 'signups' AND day = date(NEW.created_at));
    UPDATE day_counts SET number = number + 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'signups' AND day = date(NEW.created_at));
END;

CREATE TRIGGER users_days_out AFTER DELETE ON users
BEGIN
    UPDATE day_counts SET number = number - 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'signups' AND day = date(OLD.created_at));
END;

CREATE TRIGGER users_days_over AFTER UPDATE OF created_at ON users
BEGIN
    UPDATE day_counts SET number = number - 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'signups' AND day = date(OLD.created_at));
    INSERT INTO day_counts (kind, day, number) SELECT 'signups', date(NEW.created_at), 0
    WHERE NOT EXISTS (SELECT 1 FROM day_counts WHERE kind = 'signups' AND day = date(NEW.created_at));
    UPDATE day_counts SET number = number + 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = 'signups' AND day = date(NEW.created_at));
END;

CREATE TRIGGER audit_entries_days_in AFTER INSERT ON audit_entries
BEGIN
    INSERT INTO day_counts (kind, day, number) SELECT NEW.action, date(NEW.at), 0
    WHERE NOT EXISTS (SELECT 1 FROM day_counts WHERE kind = NEW.action AND day = date(NEW.at));
    UPDATE day_counts SET number = number + 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = NEW.action AND day = date(NEW.at));
END;

CREATE TRIGGER audit_entries_days_out AFTER DELETE ON audit_entries
BEGIN
    UPDATE day_counts SET number = number - 1
    WHERE rowid = (SELECT min(rowid) FROM day_counts WHERE kind = OLD.action AND day = date(OLD.at));
END;
