-- What a stack remembers of itself; a stack without a row holds only what Brains wrote, or nothing.
CREATE TABLE stacks (
    name TEXT PRIMARY KEY,
    state TEXT NOT NULL CHECK (state IN ('initializing', 'active', 'maintenance')),
    settings TEXT NOT NULL DEFAULT '{}'
) STRICT, WITHOUT ROWID;

-- The newest of a kind first, however many there are.
CREATE INDEX records_by_time ON records (place, kind, happened_at) WHERE state = 'active';

-- Strength and state say the same of what was forgotten.
UPDATE records SET strength = 0 WHERE state = 'forgotten' AND strength >= 0.2;
