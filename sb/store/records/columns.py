"""The columns of a record, what a new one may leave out, and the states it may be in."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]
CONTENT = ("key", "category", "speaker", "confidence", "evidence_n", "happened_at", "tags", "fields", "text")
COLUMNS = (
    "id", "uid", "kind", "place", "state", "agent", "session", "prev1", "prev2", "source_type", "strength",
    "protected", "created_at", "updated_at", "version", "length", "info", "terms", *CONTENT,
)  # fmt: skip
# What the gate reads of a record to compare it with a new one, and to merge that into it.
COMPARED = (
    "id", "uid", "kind", "place", "state", "agent", "source_type", "updated_at", "version", "terms", "category",
    "speaker", "confidence", "evidence_n", "happened_at", "fields", "text",
)  # fmt: skip
DEFAULTS: Row = {
    "state": "active",
    "session": None,
    "prev1": None,
    "prev2": None,
    "strength": 1.0,
    "protected": 0,
    "version": 1,
    "length": 0,
    "terms": bytes(4),
    "info": 0.0,
    "key": None,
    "category": None,
    "speaker": None,
    "confidence": None,
    "evidence_n": 2.0,
    "tags": None,
    "accessed": 0,
    "last_accessed": None,
}

# The states of a record.
# Characters of a record that the two after it are found by; the view `searchable` of the schema says the same.
LONGEST_QUOTE = 1000
ACTIVE = "active"
FORGOTTEN = "forgotten"
QUARANTINED = "quarantined"
SUPERSEDED = "superseded"
ERASED = "erased"
STATES = (ACTIVE, FORGOTTEN, QUARANTINED, SUPERSEDED, ERASED)
