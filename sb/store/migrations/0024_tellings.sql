-- The last change of any record when something was read: what was told is compared by it, since a clock may jump back.
ALTER TABLE broadcasts ADD COLUMN change INTEGER NOT NULL DEFAULT 0;
ALTER TABLE folded_reads ADD COLUMN change INTEGER NOT NULL DEFAULT 0; -- of older reads any change counts as a later one
WITH moments AS (
    SELECT at, 0 AS is_read, id, id AS change FROM record_history
    UNION ALL SELECT at, 1, id, 0 FROM broadcasts
), known AS (
    SELECT is_read, id, max(change) OVER (ORDER BY at, is_read, id ROWS UNBOUNDED PRECEDING) AS change FROM moments
)
UPDATE broadcasts SET change = known.change FROM known WHERE known.is_read = 1 AND known.id = broadcasts.id;
CREATE INDEX access_log_of_records ON access_log (record);
