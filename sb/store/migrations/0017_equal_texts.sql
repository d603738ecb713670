-- Finds the memory that says a text in the same words. Among many that differ in one word vectors need not name it.
CREATE INDEX records_of_texts ON records (place, substr(text, 1, 100), length(text))
WHERE kind IN ('fact', 'belief') AND state = 'active';
