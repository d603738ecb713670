-- For what a query was made, as the reading policy of its scope says; and what that policy withheld: never a text.
ALTER TABLE broadcasts ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
CREATE TABLE denied_reads (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    scope TEXT NOT NULL,
    purpose TEXT NOT NULL,
    reason TEXT NOT NULL,
    record TEXT NOT NULL,
    memories INTEGER NOT NULL
) STRICT;
