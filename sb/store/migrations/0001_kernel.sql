CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE streams (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) STRICT;

-- One row of the hash chain. The key holds stream and position, so that a stream is one run of neighbouring
-- rows and an append touches one page; WITHOUT ROWID or a second unique index costs a page write per commit.
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
    hash TEXT NOT NULL
) STRICT;

CREATE INDEX events_by_run ON events (run_id);

CREATE TRIGGER events_are_final BEFORE UPDATE ON events
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

CREATE TRIGGER events_are_kept BEFORE DELETE ON events
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

-- What an event says. Removable by pruning: the salt goes with the text, so that the digest left in the chain
-- cannot be guessed back.
CREATE TABLE event_payloads (
    id INTEGER PRIMARY KEY REFERENCES events (id),
    salt BLOB NOT NULL,
    body TEXT NOT NULL
) STRICT;

CREATE TRIGGER payloads_are_final BEFORE UPDATE ON event_payloads
BEGIN
    SELECT RAISE(ABORT, 'the log is append-only');
END;

-- One row per call that may change something, committed before the tool runs.
CREATE TABLE intents (
    id INTEGER PRIMARY KEY REFERENCES events (id), -- the event that announced it
    call_id TEXT NOT NULL,
    run_id TEXT NOT NULL,
    agent TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    step TEXT NOT NULL, -- the caller's name for this step of the run, or ''
    idempotency_key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('started', 'done', 'failed', 'in_doubt')),
    owner TEXT NOT NULL, -- host:pid that runs it
    deadline INTEGER NOT NULL, -- microseconds since the epoch; later than any retry can last
    outcome_id INTEGER REFERENCES events (id),
    result TEXT -- redacted; kept only for named steps, which may be asked for again
) STRICT;

CREATE UNIQUE INDEX intents_by_key ON intents (idempotency_key) WHERE step <> '' AND state <> 'failed';
CREATE INDEX intents_open ON intents (state) WHERE state IN ('started', 'in_doubt');

CREATE TRIGGER intents_move_forward BEFORE UPDATE OF state ON intents
WHEN NOT (
    (OLD.state = 'started' AND NEW.state <> 'started')
    OR (OLD.state = 'in_doubt' AND NEW.state <> 'started')
)
BEGIN
    SELECT RAISE(ABORT, 'an intent cannot move back');
END;

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
