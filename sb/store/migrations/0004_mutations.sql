-- What calls left behind that may be undone: one row per call that changed something, under the event of its
-- outcome. The arguments of the reversal are kept as they were given, so they are here, where they can be removed,
-- and not in the log, which has their digest. No index by call: it would cost each call a page, and who looks for one
-- by its call looks for a late one.
CREATE TABLE mutations (
    id INTEGER PRIMARY KEY REFERENCES events (id),
    call_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('committed', 'reversing', 'reversed')),
    ref TEXT -- what it is and how it is undone, as JSON; NULL once that was removed
) STRICT;

-- Reversing is the one state that may be left again: by the reversal's outcome, or by a person who settles it.
CREATE TRIGGER mutations_move_forward BEFORE UPDATE OF state ON mutations
WHEN OLD.state = 'reversed' OR (OLD.state = 'committed' AND NEW.state = 'reversed')
BEGIN
    SELECT RAISE(ABORT, 'a mutation cannot move that way');
END;

-- What justified them: found when it turns false.
CREATE TABLE assumptions (
    ref TEXT NOT NULL,
    mutation_id INTEGER NOT NULL REFERENCES mutations (id),
    run_id TEXT NOT NULL,
    holds_until INTEGER, -- microseconds since the epoch; NULL for ever
    watch TEXT NOT NULL, -- the read-only call that tells whether it holds, as JSON, or ''
    PRIMARY KEY (ref, mutation_id)
) STRICT, WITHOUT ROWID;

-- What a person has to look at. Where a reversal waits for agreement, that is an approval, and its state counts.
CREATE TABLE escalations (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('open', 'dismissed')),
    cause TEXT NOT NULL, -- the assumption that turned false, or what else led to it
    run_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    call_id TEXT NOT NULL, -- the call that it is about
    mutation_id INTEGER REFERENCES mutations (id),
    approval_id TEXT NOT NULL, -- or '' where nothing can be reversed
    event_id INTEGER NOT NULL REFERENCES events (id) -- says why
) STRICT;

CREATE UNIQUE INDEX escalations_once ON escalations (call_id, cause);

CREATE TRIGGER escalations_move_forward BEFORE UPDATE OF state ON escalations
WHEN OLD.state = 'dismissed'
BEGIN
    SELECT RAISE(ABORT, 'a dismissed escalation stays dismissed');
END;

-- What a call in doubt would have left behind, as far as its arguments say, and which mutation it reverses itself.
ALTER TABLE intents ADD COLUMN reversal TEXT;
ALTER TABLE intents ADD COLUMN reverses INTEGER;
