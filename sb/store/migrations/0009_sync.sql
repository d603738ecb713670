-- What this database is called among those that keep the same stack, and how far its records were looked through for what
-- changed. `head` counts all changes of the stack that are known here; `home` says whose secret seals what is written here.
CREATE TABLE sync_replicas (
    stack TEXT PRIMARY KEY,
    replica TEXT NOT NULL,
    home TEXT NOT NULL,
    head INTEGER NOT NULL DEFAULT 0,
    record INTEGER NOT NULL DEFAULT 0,
    change INTEGER NOT NULL DEFAULT 0,
    edge INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- The feed: each record as others are told of it, under the number of its last change. `seen` says which changes of which
-- database are in it, `peer` which database has it just so (or none), `erased` whether it is told to be erased.
CREATE TABLE sync_changes (
    record INTEGER PRIMARY KEY REFERENCES records (id),
    stack TEXT NOT NULL,
    seq INTEGER NOT NULL,
    peer TEXT NOT NULL,
    at REAL NOT NULL,
    seen TEXT NOT NULL,
    erased INTEGER NOT NULL,
    document TEXT NOT NULL,
    seal TEXT NOT NULL,
    UNIQUE (stack, seq)
) STRICT;

-- How far another database is known here: what was taken from it and given to it, and the most that it ever counted.
CREATE TABLE sync_peers (
    stack TEXT NOT NULL,
    peer TEXT NOT NULL,
    path TEXT NOT NULL,
    pulled INTEGER NOT NULL DEFAULT 0,
    pushed INTEGER NOT NULL DEFAULT 0,
    known INTEGER NOT NULL DEFAULT 0,
    reach TEXT NOT NULL DEFAULT '',
    at REAL NOT NULL,
    PRIMARY KEY (stack, peer)
) STRICT, WITHOUT ROWID;

-- What was changed here and elsewhere at once: the version from elsewhere, beside the record that is here.
CREATE TABLE sync_conflicts (
    id TEXT PRIMARY KEY,
    record INTEGER NOT NULL REFERENCES records (id),
    uid TEXT NOT NULL,
    peer TEXT NOT NULL,
    at REAL NOT NULL,
    document TEXT NOT NULL,
    seal TEXT NOT NULL,
    resolution TEXT NOT NULL DEFAULT '' CHECK (resolution IN ('', 'local', 'remote', 'both', 'elsewhere')),
    reason TEXT NOT NULL DEFAULT '',
    resolved_at REAL
) STRICT, WITHOUT ROWID;
CREATE INDEX sync_conflicts_of_records ON sync_conflicts (record);
CREATE UNIQUE INDEX sync_conflicts_open ON sync_conflicts (record, uid, peer) WHERE resolution = '';

CREATE TRIGGER erased_records_leave_no_copies AFTER UPDATE OF state ON records WHEN new.state = 'erased'
BEGIN
    DELETE FROM sync_conflicts WHERE record = new.id OR uid = new.uid;
    UPDATE sync_changes SET document = '', seal = '' WHERE record = new.id AND erased = 0;
END;
