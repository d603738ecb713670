-- What runs came to, as far as the log and hosts' transcripts tell: made of the events up to `outcomes_read` in `meta`,
-- so that a report over all runs reads no event twice. Judgements of people are not here; they are read from the log.
CREATE TABLE outcomes (
    run_id TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    intent TEXT NOT NULL, -- as the run states it, or ''
    version TEXT NOT NULL, -- the release, or ''
    workflow TEXT NOT NULL DEFAULT '', -- the durable workflow that the run belongs to
    host TEXT NOT NULL,
    session TEXT NOT NULL,
    started_at INTEGER NOT NULL, -- microseconds since the epoch, as all times here
    ended_at INTEGER, -- NULL while the end is not on record
    violations INTEGER NOT NULL DEFAULT 0, -- calls that were denied or broke a rule
    grounded INTEGER CHECK (grounded IN (0, 1)), -- NULL where nothing checked it
    cents REAL, -- of US dollars; NULL where the cost is not known
    sources TEXT NOT NULL DEFAULT '', -- whose figures or prices the cost is made of
    unpriced TEXT NOT NULL DEFAULT 'no cost was reported', -- why the cost is not known, or ''
    input_tokens INTEGER NOT NULL DEFAULT 0,
    output_tokens INTEGER NOT NULL DEFAULT 0,
    cached_tokens INTEGER NOT NULL DEFAULT 0,
    eval_tokens INTEGER NOT NULL DEFAULT 0,
    retry_tokens INTEGER NOT NULL DEFAULT 0,
    mark TEXT NOT NULL DEFAULT '' -- state of the host's usage, and the prices, that the cost was made of
) STRICT, WITHOUT ROWID;
