-- The sessions of programs that said who they are, such as coding agents' hosts: one entry a session, so that a call
-- within one pays nothing for it. Queries repeat the condition.
CREATE INDEX sessions_of_hosts ON events (kind)
WHERE kind = 'kernel.run.started' AND json_valid(payload) AND json_extract(payload, '$.host') <> '';
