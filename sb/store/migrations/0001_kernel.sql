CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE streams (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One link of the hash chain. The key holds stream and position, so that a stream is one run of neighbouring
-- rows and an append touches one page; a second unique index would cost a page write per commit. So would a table
-- of its own for the payload: it is the last columns of the row, which a reader of the others does not touch, and
-- pruning empties them. The salt goes with the text, so that the digest that stays cannot be guessed back.
CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    stream INTEGER GENERATED ALWAYS AS (id >> 40) VIRTUAL,
    seq INTEGER GENERATED ALWAYS AS (id & 1099511627775) VIRTUAL,
    at INTEGER NOT NULL, -- microseconds since the epoch
    kind TEXT NOT NULL,
    run_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    call_id TEXT NOT NULL,
    payload_digest TEXT NOT NULL,
    prev TEXT NOT NULL,
    hash TEXT NOT NULL,
    salt TEXT,
    payload TEXT,
    CHECK ((salt IS NULL) = (payload IS NULL))
) STRICT;

CREATE INDEX events_by_run ON events (run_id);

CREATE TRIGGER events_are_kept BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

CREATE TRIGGER events_are_final BEFORE UPDATE ON events
WHEN NOT (
    NEW.payload IS NULL AND NEW.salt IS NULL
    AND NEW.id = OLD.id AND NEW.at = OLD.at AND NEW.kind = OLD.kind AND NEW.run_id = OLD.run_id
    AND NEW.trace_id = OLD.trace_id AND NEW.agent = OLD.agent AND NEW.tool_id = OLD.tool_id
    AND NEW.call_id = OLD.call_id AND NEW.payload_digest = OLD.payload_digest
    AND NEW.prev = OLD.prev AND NEW.hash = OLD.hash
)
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

-- One row per call that may change something and has not ended: committed before the tool runs, removed with its
-- outcome. What stays is in doubt, and so is what a dead process left behind.
CREATE TABLE intents (
    id INTEGER PRIMARY KEY REFERENCES events (id), -- the event that announced it
    call_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    step TEXT NOT NULL, -- the caller's name for this step of the run, or ''
    step_key TEXT NOT NULL, -- digest of run, tool and step, or ''
    args_digest TEXT NOT NULL,
    idempotency_key TEXT NOT NULL, -- what the tool was handed
    state TEXT NOT NULL CHECK (state IN ('started', 'in_doubt')),
    owner TEXT NOT NULL, -- host:pid that runs it
    deadline INTEGER NOT NULL -- microseconds since the epoch; later than any retry can last
) STRICT;

CREATE TRIGGER intents_move_forward BEFORE UPDATE OF state ON intents
WHEN NEW.state = 'started'
BEGIN
    SELECT RAISE(ABORT, 'an intent cannot move back');
END;

CREATE UNIQUE INDEX intents_by_step ON intents (step_key) WHERE step_key <> '';

-- What a named step gave when it was done, so that asking for it again returns that and does nothing.
CREATE TABLE steps (
    step_key TEXT PRIMARY KEY,
    args_digest TEXT NOT NULL,
    outcome_id INTEGER NOT NULL REFERENCES events (id),
    call_id TEXT NOT NULL,
    result TEXT, -- redacted; NULL when it was too large to keep or was pruned
    error TEXT NOT NULL -- code and message of an answer that could not be used, or ''
) STRICT, WITHOUT ROWID;

CREATE TABLE memory (
    agent TEXT NOT NULL,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    source TEXT NOT NULL,
    confidence REAL NOT NULL,
    created_at REAL NOT NULL, -- seconds since the epoch
    ttl_s REAL,
    session_id TEXT NOT NULL,
    trace_id TEXT NOT NULL,
    PRIMARY KEY (agent, key)
) STRICT, WITHOUT ROWID;
