-- Lessons show themselves as triggers do: at the call that they are about.
ALTER TABLE triggers ADD COLUMN kind TEXT NOT NULL DEFAULT 'trigger';
ALTER TABLE triggers ADD COLUMN expires REAL; -- seconds since the epoch; made with the spec
CREATE INDEX triggers_that_expire ON triggers (expires) WHERE expires IS NOT NULL;
DELETE FROM trigger_keys;
UPDATE triggers SET spec = NULL;

-- The failed, refused and undone calls that a lesson was learned from, each once. `open`: what worked is still looked for.
CREATE TABLE lesson_failures (
    call_id TEXT NOT NULL PRIMARY KEY,
    record INTEGER NOT NULL REFERENCES records (id),
    signature TEXT NOT NULL, -- a digest of the call
    run_id TEXT NOT NULL,
    at INTEGER NOT NULL, -- the number of the call's first event
    open INTEGER NOT NULL DEFAULT 1
) STRICT, WITHOUT ROWID;
CREATE INDEX lesson_failures_by_signature ON lesson_failures (signature, record);
CREATE INDEX lesson_failures_by_record ON lesson_failures (record);
CREATE INDEX lesson_failures_open ON lesson_failures (run_id) WHERE open = 1;

CREATE INDEX trigger_showings_by_session ON trigger_showings (session) WHERE heeded = 0;

CREATE TRIGGER new_lessons_are_armed AFTER INSERT ON records
WHEN new.kind = 'lesson' AND new.state = 'active' AND new.category = 'active'
BEGIN
    INSERT INTO triggers (record, kind) VALUES (new.id, 'lesson');
END;

CREATE TRIGGER changed_lessons_are_armed_anew AFTER UPDATE OF state, category, fields, text ON records
WHEN new.kind = 'lesson'
BEGIN
    DELETE FROM trigger_keys WHERE record = new.id;
    DELETE FROM triggers WHERE record = new.id;
    INSERT INTO triggers (record, kind)
    SELECT new.id, 'lesson' WHERE new.state = 'active' AND new.category = 'active';
    DELETE FROM trigger_showings WHERE record = new.id AND new.state = 'erased';
    DELETE FROM lesson_failures WHERE record = new.id AND new.state = 'erased';
END;
