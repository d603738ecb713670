-- Finds the memory that a text was merged into, when the same text comes again.
CREATE INDEX records_of_restatements ON records (place, substr(text, 1, 100), length(text))
WHERE kind IN ('fact', 'belief') AND state = 'superseded';
