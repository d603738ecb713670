-- Revisions of what is believed: which memory replaced which, why, and how credible both were then. A pending one waits for a
-- person to release its winner from quarantine. `brought` says that the winner became active by it, so that a revert takes it out.
CREATE TABLE belief_collapse_events (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    session INTEGER REFERENCES memory_sessions (id),
    status TEXT NOT NULL CHECK (status IN ('pending', 'standing', 'reverted', 'dismissed')),
    loser INTEGER NOT NULL REFERENCES records (id),
    winner INTEGER NOT NULL REFERENCES records (id),
    brought INTEGER NOT NULL CHECK (brought IN (0, 1)),
    reason TEXT NOT NULL,
    held TEXT NOT NULL,
    ranking TEXT NOT NULL CHECK (json_valid(ranking)),
    provenance TEXT NOT NULL CHECK (json_valid(provenance)),
    reverts INTEGER REFERENCES belief_collapse_events (id),
    settled_at REAL,
    settled_by TEXT
) STRICT;
CREATE INDEX belief_collapses_of_losers ON belief_collapse_events (loser);
CREATE INDEX belief_collapses_of_winners ON belief_collapse_events (winner);

-- The records that fell in a collapse, with the state that they had, and those that stand though what fell is close to them.
-- `digest` is of the words of what fell, by which an echo of it is known; erasing the record removes it.
CREATE TABLE belief_collapse_items (
    collapse INTEGER NOT NULL REFERENCES belief_collapse_events (id),
    record INTEGER NOT NULL REFERENCES records (id),
    role TEXT NOT NULL CHECK (role IN ('loser', 'derived', 'echo', 'mention')),
    former TEXT NOT NULL,
    digest BLOB,
    restored INTEGER NOT NULL DEFAULT 0 CHECK (restored IN (0, 1)),
    PRIMARY KEY (collapse, record)
) STRICT, WITHOUT ROWID;
CREATE INDEX belief_collapse_items_of_records ON belief_collapse_items (record);
CREATE INDEX belief_collapse_items_of_texts ON belief_collapse_items (digest) WHERE digest IS NOT NULL;
