-- The contract of every tool that any process's executor has met, so that others can compare and approve it.
-- Which of them are approved is said by the log alone.
CREATE TABLE contracts_seen (
    surface TEXT NOT NULL, -- where tools come from: 'kernel' for those of registries
    tool_id TEXT NOT NULL,
    fingerprint TEXT NOT NULL,
    document TEXT NOT NULL, -- what the fingerprint covers, as JSON
    source TEXT NOT NULL, -- who registered it
    first_seen_at INTEGER NOT NULL, -- microseconds since the epoch
    last_seen_at INTEGER NOT NULL, -- when a process last met it for the first time
    PRIMARY KEY (surface, tool_id, fingerprint)
) STRICT;
