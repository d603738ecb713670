-- Triggers that may still fire, each a record of kind `trigger`. What it is matched by is made from the record when it is
-- first asked for, so that records from bundles, syncs and reviews need no step of their own.
CREATE TABLE triggers (
    record INTEGER PRIMARY KEY REFERENCES records (id),
    spec TEXT
) STRICT;
CREATE INDEX triggers_unprepared ON triggers (record) WHERE spec IS NULL;
CREATE TABLE trigger_keys (
    key TEXT NOT NULL,
    record INTEGER NOT NULL REFERENCES triggers (record),
    weight REAL NOT NULL,
    PRIMARY KEY (key, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX trigger_keys_of_records ON trigger_keys (record);

-- The sessions that were shown a trigger, each once. `heeded`: a call that matches it came after that.
CREATE TABLE trigger_showings (
    record INTEGER NOT NULL REFERENCES records (id),
    session INTEGER NOT NULL REFERENCES memory_sessions (id),
    at REAL NOT NULL,
    heeded INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (record, session)
) STRICT, WITHOUT ROWID;

INSERT INTO triggers (record)
SELECT id FROM records WHERE kind = 'trigger' AND state = 'active' AND category IN ('pending', 'snoozed');

CREATE TRIGGER new_triggers_are_armed AFTER INSERT ON records
WHEN new.kind = 'trigger' AND new.state = 'active' AND new.category IN ('pending', 'snoozed')
BEGIN
    INSERT INTO triggers (record) VALUES (new.id);
END;

CREATE TRIGGER changed_triggers_are_armed_anew AFTER UPDATE OF state, category, fields, text ON records
WHEN new.kind = 'trigger'
BEGIN
    DELETE FROM trigger_keys WHERE record = new.id;
    DELETE FROM triggers WHERE record = new.id;
    INSERT INTO triggers (record)
    SELECT new.id WHERE new.state = 'active' AND new.category IN ('pending', 'snoozed');
    DELETE FROM trigger_showings WHERE record = new.id AND new.state = 'erased';
END;
