"""The event log: append-only, hash-chained, redacted."""
