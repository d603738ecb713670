-- What speaks for or against a memory beside what wrote it: restatements that were merged into it, and outcomes. The text of
-- a restatement is not kept. `confidence` is the memory's before, which outcomes are compared with.
CREATE TABLE record_evidence (
    id INTEGER PRIMARY KEY,
    record INTEGER NOT NULL REFERENCES records (id),
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    source_type TEXT NOT NULL,
    session INTEGER REFERENCES memory_sessions (id),
    kind TEXT NOT NULL CHECK (kind IN ('restated', 'confirmed', 'refuted')),
    weight REAL NOT NULL CHECK (weight >= 0),
    likeness REAL,
    confidence REAL
) STRICT;
CREATE INDEX record_evidence_of_records ON record_evidence (record, kind, id);
CREATE INDEX record_outcomes ON record_evidence (id) WHERE kind <> 'restated';
