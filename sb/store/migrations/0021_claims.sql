-- What a memory says of something: entity, attribute and qualifiers make the key. A claim without a record is the kernel's
-- contradiction ledger's own, and `document` says the rest of it. A key is "" where a text only reads as if it contradicted.
CREATE TABLE claims (
    id INTEGER PRIMARY KEY,
    record INTEGER REFERENCES records (id),
    place INTEGER,
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    document TEXT NOT NULL CHECK (json_valid(document)),
    stands INTEGER NOT NULL DEFAULT 1 CHECK (stands IN (0, 1))
) STRICT;
CREATE INDEX claims_of_keys ON claims (key, place);
CREATE INDEX claims_of_records ON claims (record) WHERE record IS NOT NULL;

-- Two claims that cannot both hold. `open` waits for a decision, `marked` is only shown; `superseded` was settled by recency,
-- `resolved` by somebody, and either can be `reverted`. `dismissed`: both hold, or one of them is gone.
CREATE TABLE contradictions (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    at REAL NOT NULL,
    key TEXT NOT NULL,
    place INTEGER,
    earlier INTEGER NOT NULL REFERENCES claims (id),
    later INTEGER NOT NULL REFERENCES claims (id),
    status TEXT NOT NULL CHECK (status IN ('open', 'marked', 'superseded', 'resolved', 'reverted', 'dismissed')),
    opened_by TEXT NOT NULL,
    winner INTEGER REFERENCES claims (id),
    collapses TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(collapses)),
    reason TEXT NOT NULL DEFAULT '',
    settled_at REAL,
    settled_by TEXT
) STRICT;
CREATE UNIQUE INDEX contradictions_open ON contradictions (key, coalesce(place, 0)) WHERE status = 'open';
CREATE INDEX contradictions_waiting ON contradictions (status) WHERE status IN ('open', 'marked');
CREATE INDEX contradictions_earlier ON contradictions (earlier);
CREATE INDEX contradictions_later ON contradictions (later);

-- A contradiction waits only as long as both sides stand.
CREATE TRIGGER fallen_records_contradict_nothing AFTER UPDATE OF state ON records
WHEN old.state = 'active' AND new.state <> 'active'
BEGIN
    UPDATE contradictions SET status = 'dismissed' WHERE status IN ('open', 'marked') AND id IN (
        SELECT c.id FROM claims AS k JOIN contradictions AS c ON c.earlier = k.id WHERE k.record = new.id
        UNION SELECT c.id FROM claims AS k JOIN contradictions AS c ON c.later = k.id WHERE k.record = new.id
    );
END;

CREATE TRIGGER restored_records_contradict_again AFTER UPDATE OF state ON records
WHEN old.state <> 'active' AND new.state = 'active'
BEGIN
    UPDATE OR IGNORE contradictions SET status = CASE key WHEN '' THEN 'marked' ELSE 'open' END
    WHERE status = 'dismissed' AND settled_by IS NULL AND id IN (
        SELECT c.id FROM claims AS k JOIN contradictions AS c ON c.earlier = k.id JOIN claims AS o ON o.id = c.later
        JOIN records AS r ON r.id = o.record WHERE k.record = new.id AND r.state = 'active'
        UNION SELECT c.id FROM claims AS k JOIN contradictions AS c ON c.later = k.id JOIN claims AS o ON o.id = c.earlier
        JOIN records AS r ON r.id = o.record WHERE k.record = new.id AND r.state = 'active'
    );
END;

CREATE TRIGGER erased_records_claim_nothing AFTER UPDATE OF state ON records WHEN new.state = 'erased'
BEGIN
    UPDATE contradictions SET key = '', reason = '', status = CASE WHEN status IN ('open', 'marked') THEN 'dismissed' ELSE status END
    WHERE earlier IN (SELECT id FROM claims WHERE record = new.id) OR later IN (SELECT id FROM claims WHERE record = new.id);
    UPDATE claims SET key = '', value = '', document = '{}', stands = 0 WHERE record = new.id;
END;
