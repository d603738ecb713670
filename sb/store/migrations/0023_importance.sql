-- Importance of a memory by the paper's name: how often it was recalled, times in how many steps others were derived from
-- it. It is as of the last time that reads were folded.
ALTER TABLE record_stats ADD COLUMN ewc_importance REAL NOT NULL DEFAULT 0;

-- Refusals of the proactive interference gate, by the paper's name: which memory would have lost its support to a
-- correction, which waits since; its dependency score before and after that, and the score that it must keep.
CREATE TABLE pii_audit (
    collapse INTEGER NOT NULL REFERENCES belief_collapse_events (id),
    record INTEGER NOT NULL REFERENCES records (id),
    former REAL NOT NULL,
    remaining REAL NOT NULL,
    threshold REAL NOT NULL,
    PRIMARY KEY (collapse, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX pii_audit_of_records ON pii_audit (record);

-- What reached agents more than 90 days ago, of which the questions are gone: one row for each agent and record.
CREATE TABLE folded_reads (
    agent TEXT NOT NULL,
    record INTEGER NOT NULL REFERENCES records (id),
    first REAL NOT NULL,
    last REAL NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (agent, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX folded_reads_of_records ON folded_reads (record);
-- For whoever removes a session that nothing refers to.
CREATE INDEX record_evidence_of_sessions ON record_evidence (session) WHERE session IS NOT NULL;
CREATE INDEX belief_collapses_of_sessions ON belief_collapse_events (session) WHERE session IS NOT NULL;
CREATE INDEX trigger_showings_of_sessions ON trigger_showings (session);
