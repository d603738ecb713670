-- Personal data that was met in what agents wrote: never the value, only what kind of value and what was done about it.
-- `record` is NULL where nothing was kept.
CREATE TABLE personal_data (
    id INTEGER PRIMARY KEY,
    record INTEGER REFERENCES records (id),
    label TEXT NOT NULL,
    action TEXT NOT NULL CHECK (action IN ('keep', 'redact', 'drop', 'escalate')),
    agent TEXT NOT NULL,
    scope TEXT NOT NULL,
    at REAL NOT NULL
) STRICT;
CREATE INDEX personal_data_of_records ON personal_data (record) WHERE record IS NOT NULL;

-- Records that name the people they are about, and who may read them, are few.
CREATE INDEX records_of_subjects ON records (id) WHERE instr(fields, '"subject_ids"') > 0;
CREATE INDEX records_with_grants ON records (id)
WHERE instr(fields, '"access_grants"') > 0 OR instr(fields, '"consent_grants"') > 0;
