-- Who may see a record, as one integer: a predicate of every query. `owner` is empty, or the only agent that may read.
CREATE TABLE places (
    id INTEGER PRIMARY KEY,
    stack TEXT NOT NULL,
    scope TEXT NOT NULL,
    owner TEXT NOT NULL,
    UNIQUE (stack, scope, owner)
) STRICT;

CREATE TABLE memory_sessions (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    stack TEXT NOT NULL,
    scope TEXT NOT NULL,
    started_at REAL NOT NULL,
    ended_at REAL
) STRICT;
CREATE INDEX memory_sessions_of_scopes ON memory_sessions (stack, scope, started_at);

-- One memory of any kind. What has no column stands in `fields`; `text` is what of it can be searched, `terms` the same as
-- numbers, which ranking counts without reading the text.
CREATE TABLE records (
    id INTEGER PRIMARY KEY,
    uid TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    place INTEGER NOT NULL REFERENCES places (id),
    state TEXT NOT NULL DEFAULT 'active'
        CHECK (state IN ('active', 'forgotten', 'quarantined', 'superseded', 'erased')),
    agent TEXT NOT NULL,
    session INTEGER REFERENCES memory_sessions (id),
    prev1 INTEGER REFERENCES records (id),
    prev2 INTEGER REFERENCES records (id),
    key TEXT,
    category TEXT,
    speaker TEXT,
    source_type TEXT NOT NULL,
    confidence REAL,
    evidence_n REAL NOT NULL DEFAULT 2,
    strength REAL NOT NULL DEFAULT 1,
    protected INTEGER NOT NULL DEFAULT 0,
    happened_at REAL NOT NULL,
    created_at REAL NOT NULL,
    updated_at REAL NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    length INTEGER NOT NULL DEFAULT 0,
    info REAL NOT NULL DEFAULT 0,
    terms BLOB NOT NULL DEFAULT x'00000000',
    tags TEXT,
    fields TEXT NOT NULL,
    text TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX records_of_keys ON records (place, kind, key) WHERE key IS NOT NULL AND state <> 'erased';
CREATE INDEX records_of_places ON records (place, kind, id);
CREATE INDEX records_protected ON records (place, kind, id) WHERE protected = 1;
CREATE INDEX records_of_sessions ON records (session, id) WHERE session IS NOT NULL;

-- Who is known to speak where: a question that names one of them asks for what they said.
CREATE TABLE speakers (
    place INTEGER NOT NULL REFERENCES places (id),
    name TEXT NOT NULL,
    PRIMARY KEY (place, name)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER records_are_never_deleted BEFORE DELETE ON records
BEGIN
    SELECT RAISE(ABORT, 'a record is erased, never deleted');
END;

CREATE TRIGGER records_keep_their_identity BEFORE UPDATE OF id, uid, kind, created_at ON records
WHEN new.id <> old.id OR new.uid <> old.uid OR new.kind <> old.kind OR new.created_at <> old.created_at
BEGIN
    SELECT RAISE(ABORT, 'id, uid, kind and created_at of a record never change');
END;

CREATE TRIGGER erased_records_stay_so BEFORE UPDATE ON records WHEN old.state = 'erased'
BEGIN
    SELECT RAISE(ABORT, 'an erased record cannot be changed');
END;

CREATE TRIGGER erased_records_hold_nothing BEFORE UPDATE OF state ON records
WHEN new.state = 'erased' AND (new.text <> '' OR new.fields <> '{}' OR new.tags IS NOT NULL OR new.key IS NOT NULL
    OR new.speaker IS NOT NULL
    OR length(new.terms) > 4)
BEGIN
    SELECT RAISE(ABORT, 'an erased record holds nothing');
END;

CREATE TRIGGER events_are_append_only BEFORE UPDATE OF text, happened_at ON records
WHEN old.kind = 'event' AND new.state <> 'erased' AND (new.text <> old.text OR new.happened_at <> old.happened_at)
BEGIN
    SELECT RAISE(ABORT, 'an event is append-only');
END;

CREATE TRIGGER rationale_is_immutable BEFORE UPDATE OF text ON records
WHEN old.kind = 'decision' AND new.state <> 'erased' AND new.text <> old.text
BEGIN
    SELECT RAISE(ABORT, 'a decision and its rationale are immutable');
END;

CREATE TABLE record_history (
    id INTEGER PRIMARY KEY,
    record INTEGER NOT NULL REFERENCES records (id),
    at REAL NOT NULL,
    actor TEXT NOT NULL,
    operation TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    version INTEGER NOT NULL,
    former TEXT
) STRICT;
CREATE INDEX record_history_of_records ON record_history (record, id);

CREATE TABLE edges (
    id INTEGER PRIMARY KEY,
    source INTEGER NOT NULL REFERENCES records (id),
    relation TEXT NOT NULL,
    target INTEGER NOT NULL REFERENCES records (id),
    weight REAL NOT NULL DEFAULT 1,
    place INTEGER NOT NULL REFERENCES places (id),
    agent TEXT NOT NULL,
    created_at REAL NOT NULL,
    UNIQUE (source, relation, target),
    CHECK (source <> target AND weight >= 0)
) STRICT;
CREATE INDEX edges_of_sources ON edges (source, weight);
CREATE INDEX edges_of_targets ON edges (target, weight);

-- What reached an agent's context: one row a read, and one for each record in it.
CREATE TABLE broadcasts (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL,
    agent TEXT NOT NULL,
    session INTEGER REFERENCES memory_sessions (id),
    operation TEXT NOT NULL,
    query TEXT NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;
CREATE INDEX broadcasts_of_sessions ON broadcasts (session, id);
CREATE TABLE access_log (
    broadcast INTEGER NOT NULL REFERENCES broadcasts (id),
    record INTEGER NOT NULL REFERENCES records (id),
    score REAL NOT NULL,
    PRIMARY KEY (broadcast, record)
) STRICT, WITHOUT ROWID;
CREATE TABLE record_stats (
    record INTEGER PRIMARY KEY REFERENCES records (id),
    place INTEGER NOT NULL REFERENCES places (id),
    accessed INTEGER NOT NULL,
    last_accessed REAL NOT NULL
) STRICT;
CREATE INDEX record_stats_by_use ON record_stats (place, accessed);

CREATE TABLE vectors (
    record INTEGER PRIMARY KEY REFERENCES records (id),
    model TEXT NOT NULL,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL
) STRICT;

CREATE TABLE index_state (
    name TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- What the full-text index holds. A record quotes the two before it while they are active, in its place, and its agent's.
CREATE VIEW searchable AS
SELECT
    r.id AS id,
    r.text AS body,
    coalesce(substr(a.text, 1, 1000), '') || ' ' || coalesce(substr(b.text, 1, 1000), '') AS prev,
    CASE r.state WHEN 'active' THEN 'p' ELSE r.state || 'p' END || r.place AS place
FROM records AS r
LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active' AND a.place = r.place AND a.agent = r.agent
LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' AND b.place = r.place AND b.agent = r.agent;

CREATE VIRTUAL TABLE record_index USING fts5 (
    body, prev, place, content = 'searchable', content_rowid = 'id', tokenize = 'porter unicode61'
);
CREATE VIRTUAL TABLE record_terms USING fts5vocab ('record_index', 'col');

-- Inserts are indexed by the code that makes them: within a trigger FTS5 writes a segment for every row, which triples the cost.
-- Of an update the former entries go first, then the new ones come: in the other order the index would lose both.
CREATE TRIGGER record_index_before_update BEFORE UPDATE OF text, state, place, agent, prev1, prev2 ON records
BEGIN
    INSERT INTO record_index (record_index, rowid, body, prev, place)
    SELECT 'delete', id, body, prev, place FROM searchable WHERE id = old.id;
    INSERT INTO record_index (record_index, rowid, body, prev, place)
    SELECT 'delete', s.id, s.body, s.prev, s.place FROM records AS q JOIN searchable AS s ON s.id = q.id
    WHERE q.session = old.session AND q.id > old.id AND (q.prev1 = old.id OR q.prev2 = old.id);
END;

CREATE TRIGGER record_index_after_update AFTER UPDATE OF text, state, place, agent, prev1, prev2 ON records
BEGIN
    INSERT INTO record_index (rowid, body, prev, place)
    SELECT id, body, prev, place FROM searchable WHERE id = new.id;
    INSERT INTO record_index (rowid, body, prev, place)
    SELECT s.id, s.body, s.prev, s.place FROM records AS q JOIN searchable AS s ON s.id = q.id
    WHERE q.session = old.session AND q.id > old.id AND (q.prev1 = old.id OR q.prev2 = old.id);
END;
