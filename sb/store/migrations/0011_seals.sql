-- Keyed tags over the journal's rows, made with the home's key of digests: a row that something else changed or put
-- here has none that fits. '' where no home's key is at hand. Rows from before get theirs from `sb migrate`.
ALTER TABLE workflows ADD COLUMN tag TEXT NOT NULL DEFAULT '';
ALTER TABLE workflow_steps ADD COLUMN tag TEXT NOT NULL DEFAULT '';

DROP TRIGGER workflows_move_forward;
CREATE TRIGGER workflows_move_forward BEFORE UPDATE ON workflows
WHEN OLD.result IS NOT NULL AND OLD.tag <> ''
BEGIN
    SELECT RAISE(ABORT, 'a finished workflow stays finished');
END;

DROP TRIGGER workflow_steps_move_forward;
CREATE TRIGGER workflow_steps_move_forward BEFORE UPDATE ON workflow_steps
WHEN OLD.result IS NOT NULL AND OLD.tag <> ''
BEGIN
    SELECT RAISE(ABORT, 'a step that is done stays done');
END;
