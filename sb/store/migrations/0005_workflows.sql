-- What workflows have done so far. Arguments and results are kept as they were given, since a resumed workflow needs
-- them; they are in no other place, and go when the workflow is forgotten.
CREATE TABLE workflows (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    run_id TEXT NOT NULL, -- under which its tool calls are made, in every attempt
    started_at INTEGER NOT NULL, -- microseconds since the epoch, as all times here
    owner TEXT NOT NULL, -- who is running it, or ''
    lease_until INTEGER NOT NULL, -- counts where the owner cannot be seen
    args TEXT NOT NULL,
    result TEXT -- NULL while it is not finished
) STRICT;

CREATE INDEX workflows_unfinished ON workflows (number) WHERE result IS NULL;

CREATE TRIGGER workflows_move_forward BEFORE UPDATE ON workflows
WHEN OLD.result IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a finished workflow stays finished');
END;

-- One row per step, committed before it runs. The key holds workflow and position, so that a step touches one page.
CREATE TABLE workflow_steps (
    id INTEGER PRIMARY KEY, -- workflow << 20 | position
    name TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('step', 'idempotent', 'call')),
    args_digest TEXT NOT NULL,
    result TEXT -- NULL until it is done
) STRICT;

CREATE TRIGGER workflow_steps_move_forward BEFORE UPDATE ON workflow_steps
WHEN OLD.result IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a step that is done stays done');
END;
