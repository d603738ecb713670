-- Signals that are off by default (memory.signals). By the paper's names: what retrieval adds to a memory while `replay` is
-- on, how much it mattered to the searches that found it, and how often it mattered most.
ALTER TABLE record_stats ADD COLUMN replay_priority REAL NOT NULL DEFAULT 0;
ALTER TABLE record_stats ADD COLUMN ripple_tags INTEGER NOT NULL DEFAULT 0;
CREATE INDEX record_stats_by_replay ON record_stats (replay_priority) WHERE replay_priority > 0;

-- What a signal changed: the place of a memory in a search, or without a record the state of neuromodulation. The newest
-- 10,000 rows stay.
CREATE TABLE signal_log (
    id INTEGER PRIMARY KEY,
    at REAL NOT NULL, signal TEXT NOT NULL, agent TEXT NOT NULL,
    record INTEGER REFERENCES records (id),
    former TEXT NOT NULL, current TEXT NOT NULL, cause TEXT NOT NULL
) STRICT;
CREATE INDEX signal_log_of_records ON signal_log (record);

-- Memories in force that lost some of what they were derived from, or that another one contradicts.
CREATE VIEW decoherent_memories AS
SELECT r.id AS record, r.place, r.confidence, 'unsupported' AS coherence_syndrome,
    CAST(sum(s.state NOT IN ('active', 'forgotten')) AS REAL) / count(*) AS decoherence_rate
FROM records AS r JOIN edges AS e ON e.source = r.id AND e.relation = 'derived_from' JOIN records AS s ON s.id = e.target
WHERE r.state = 'active' GROUP BY r.id HAVING decoherence_rate > 0
UNION ALL
SELECT r.id, r.place, r.confidence, 'contradicted', count(DISTINCT c.id) / (count(DISTINCT c.id) + 1.0)
FROM contradictions AS c JOIN claims AS k ON k.id IN (c.earlier, c.later)
    OR (c.status = 'open' AND k.key = c.key AND k.key <> '' AND coalesce(k.place, 0) = coalesce(c.place, 0))
JOIN records AS r ON r.id = k.record AND r.state = 'active'
WHERE c.status IN ('open', 'marked') AND k.stands GROUP BY r.id;

-- Memories that searches do not find and that can come back, and by which change they left.
CREATE VIEW recovery_candidates AS
SELECT r.id AS record, r.place, r.state, coalesce(h.at, r.updated_at) AS since, coalesce(h.operation, r.state) AS cause,
    CASE r.state WHEN 'forgotten' THEN 'sb memory recover' WHEN 'quarantined' THEN 'sb quarantine release'
        ELSE 'sb memory revert' END AS way
FROM records AS r
LEFT JOIN record_history AS h ON h.id = (SELECT max(id) FROM record_history WHERE record = r.id)
WHERE r.state = 'forgotten' OR (r.state = 'quarantined' AND NOT EXISTS (
    SELECT 1 FROM record_history AS p WHERE p.record = r.id AND p.operation IN ('purge', 'dismiss')
)) OR (r.state = 'superseded' AND EXISTS (
    SELECT 1 FROM belief_collapse_events AS b WHERE b.loser = r.id AND b.status = 'standing'
));
