-- What stands beside memories and is none has entries of its own kind in the full-text index: who looks for memories does not meet it.
INSERT INTO record_index (record_index, rowid, body, prev, place)
SELECT 'delete', s.id, s.body, s.prev, s.place FROM records AS r JOIN searchable AS s ON s.id = r.id
WHERE r.kind IN ('suggestion', 'trust_assessment', 'relationship_history');

DROP VIEW searchable;
CREATE VIEW searchable AS
SELECT
    r.id AS id,
    r.text AS body,
    coalesce(substr(a.text, 1, 1000), '') || ' ' || coalesce(substr(b.text, 1, 1000), '') AS prev,
    CASE WHEN r.kind IN ('suggestion', 'trust_assessment', 'relationship_history') THEN 'aside' ELSE '' END
    || CASE r.state WHEN 'active' THEN 'p' ELSE r.state || 'p' END || r.place AS place
FROM records AS r
LEFT JOIN records AS a ON a.id = r.prev1 AND a.state = 'active' AND a.place = r.place AND a.agent = r.agent
LEFT JOIN records AS b ON b.id = r.prev2 AND b.state = 'active' AND b.place = r.place AND b.agent = r.agent;

INSERT INTO record_index (rowid, body, prev, place)
SELECT s.id, s.body, s.prev, s.place FROM records AS r JOIN searchable AS s ON s.id = r.id
WHERE r.kind IN ('suggestion', 'trust_assessment', 'relationship_history');
