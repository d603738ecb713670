-- What people decided, and what they were asked: few rows, found by what they are about. Agents' calls are not in it.
CREATE INDEX events_of_people ON events (call_id, kind) WHERE substr(kind, 1, 7) <> 'kernel.';

-- The queue. A row is for finding and for using an approval once; whether it counts is decided by the log, which
-- holds the request and every signed decision under the approval's id.
CREATE TABLE approvals (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'approved', 'denied', 'revoked', 'expired', 'used')),
    agent TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    args_digest TEXT NOT NULL,
    safety_class TEXT NOT NULL,
    run_id TEXT NOT NULL, -- of the call that asked first
    call_id TEXT NOT NULL,
    waiter TEXT NOT NULL, -- host:pid of a process that waits for the decision, or ''
    needed INTEGER NOT NULL CHECK (needed IN (1, 2)), -- people
    requested_at INTEGER NOT NULL, -- microseconds since the epoch, as all times here
    due_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    event_id INTEGER NOT NULL REFERENCES events (id), -- holds what the operator is shown
    decided_at INTEGER,
    decided_by TEXT NOT NULL DEFAULT '',
    reason TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE INDEX approvals_open ON approvals (expires_at) WHERE state IN ('waiting', 'approved');
CREATE INDEX approvals_by_call ON approvals (args_digest);

CREATE TRIGGER approvals_move_forward BEFORE UPDATE OF state ON approvals
WHEN OLD.state IN ('denied', 'revoked', 'expired', 'used')
    OR (OLD.state = 'approved' AND NEW.state IN ('waiting', 'denied'))
BEGIN
    SELECT RAISE(ABORT, 'an approval cannot move back');
END;

CREATE TABLE grants (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('active', 'revoked')),
    agent TEXT NOT NULL,
    tool_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    run_id TEXT NOT NULL, -- '' for every run
    args TEXT NOT NULL, -- argument name to pattern, as JSON; {} for any arguments
    made_at INTEGER NOT NULL,
    made_by TEXT NOT NULL,
    reason TEXT NOT NULL,
    expires_at INTEGER NOT NULL,
    uses INTEGER NOT NULL DEFAULT 0,
    last_used_at INTEGER
) STRICT;

CREATE INDEX grants_by_tool ON grants (tool_id, agent) WHERE state = 'active';

CREATE TRIGGER grants_move_forward BEFORE UPDATE OF state ON grants
WHEN OLD.state = 'revoked'
BEGIN
    SELECT RAISE(ABORT, 'a revoked grant stays revoked');
END;
