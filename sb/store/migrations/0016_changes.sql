-- Counts the changes of records that a search reads, and of their vectors: what a process remembers of records holds while
-- the number stays the same. New records are no change of others, and their vectors come in order; a vector that comes
-- later than those of newer records is a change.
CREATE TRIGGER record_changes_are_counted
AFTER UPDATE OF place, state, agent, session, prev1, prev2, speaker, happened_at, info, terms ON records
BEGIN
    INSERT INTO index_state (name, value) VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1;
END;

CREATE TRIGGER vector_removals_are_counted AFTER DELETE ON vectors
BEGIN
    INSERT INTO index_state (name, value) VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1;
END;

CREATE TRIGGER vector_changes_are_counted AFTER UPDATE ON vectors
BEGIN
    INSERT INTO index_state (name, value) VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1;
END;

CREATE TRIGGER late_vectors_are_counted BEFORE INSERT ON vectors
WHEN new.record < (SELECT max(record) FROM vectors)
BEGIN
    INSERT INTO index_state (name, value) VALUES ('changes', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1;
END;
