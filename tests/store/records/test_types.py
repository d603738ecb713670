"""The dataclasses of memory: which fields they have, in which order, and with which defaults."""

from __future__ import annotations

from dataclasses import MISSING, fields
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from sb.protocols import types
from sb.protocols.types import Belief, Drive, RawEntry, SearchResult, SourceType, Value, parse_datetime
from sb.protocols.types import vocabulary as words
from tests.rows import rows

SYNC = "local_updated_at cloud_synced_at version deleted"
META = (
    "confidence source_type source_entity source_episodes derived_from last_verified verification_count"
    " confidence_history"
)
STRENGTH = "strength times_accessed last_accessed is_protected"
CTX = "context context_tags"
PRIV = "subject_ids access_grants consent_grants"
COMMON = f"{SYNC} {META} {STRENGTH}"
LATE = "created_at updated_at cloud_synced_at version deleted"

# The stack protocol, field by field; a field that is named twice keeps its first place.
PROTOCOL = {
    "Episode": "id stack_id objective outcome outcome_type lessons repeat avoid tags created_at emotional_valence"
    f" emotional_arousal emotional_tags {COMMON} processed {CTX} epoch_id {PRIV}",
    "Belief": f"id stack_id statement belief_type confidence created_at {SYNC} {META} supersedes superseded_by"
    f" times_reinforced is_active {STRENGTH} {CTX} epoch_id {PRIV} processed belief_scope source_domain"
    " cross_domain_applications abstraction_level",
    "Value": f"id stack_id name statement priority created_at {COMMON} {CTX} epoch_id {PRIV}",
    "Goal": f"id stack_id title description goal_type priority status created_at {COMMON} {CTX} epoch_id {PRIV}",
    "Note": f"id stack_id content note_type speaker reason tags created_at {COMMON} processed {CTX} epoch_id {PRIV}",
    "Drive": f"id stack_id drive_type intensity focus_areas created_at updated_at {COMMON} {CTX} epoch_id {PRIV}",
    "Relationship": "id stack_id entity_name entity_type relationship_type notes sentiment interaction_count"
    f" last_interaction created_at {COMMON} {CTX} epoch_id {PRIV}",
    "RawEntry": f"id stack_id blob captured_at source processed processed_into {SYNC} content timestamp tags confidence"
    " source_type",
    "Playbook": "id stack_id name description trigger_conditions steps failure_modes recovery_steps mastery_level"
    f" times_used success_rate source_episodes tags confidence last_used created_at {CTX} {PRIV} {SYNC}",
    "Epoch": "id stack_id epoch_number name started_at ended_at trigger_type trigger_description summary key_belief_ids"
    f" key_relationship_ids key_goal_ids dominant_drive_ids {SYNC}",
    "Summary": "id stack_id scope period_start period_end content epoch_id key_themes supersedes is_protected"
    f" {LATE}",
    "SelfNarrative": "id stack_id content narrative_type epoch_id key_themes unresolved_tensions is_active supersedes"
    f" {LATE}",
    "MemorySuggestion": "id stack_id memory_type content confidence source_raw_ids status created_at resolved_at"
    f" resolution_reason promoted_to {SYNC}",
    "TrustAssessment": "id stack_id entity dimensions authority evidence_episode_ids last_updated created_at"
    f" {SYNC}",
    "RelationshipHistoryEntry": "id stack_id relationship_id entity_name event_type old_value new_value episode_id notes"
    f" created_at {SYNC}",
    "EntityModel": "id stack_id entity_name model_type observation confidence source_episodes created_at updated_at"
    f" {PRIV} {SYNC}",
    "SearchResult": "memory_type memory_id content score metadata",
    "QueuedChange": "id table_name record_id operation payload queued_at retry_count last_error last_attempt_at",
    "SyncConflict": "id table record_id local_version cloud_version resolution resolved_at local_summary cloud_summary"
    " source diff_hash policy_decision differing",
}
REQUIRED = {
    "Episode": 4, "Belief": 3, "Value": 4, "Goal": 3, "Note": 3, "Drive": 3, "Relationship": 3, "RawEntry": 2,
    "Playbook": 7, "Epoch": 4, "Summary": 6, "SelfNarrative": 3, "MemorySuggestion": 6, "TrustAssessment": 4,
    "RelationshipHistoryEntry": 5, "EntityModel": 5, "SearchResult": 4, "QueuedChange": 4, "SyncConflict": 7,
}  # fmt: skip

RESULTS = {"SearchResult", "QueuedChange", "SyncConflict"}  # no memories


@rows("name", PROTOCOL)
def test_a_type_has_the_fields_of_the_protocol_in_their_order(name: str) -> None:
    found = fields(getattr(types, name))
    names, wanted = [field.name for field in found], list(dict.fromkeys(PROTOCOL[name].split()))
    assert names[: len(wanted)] == wanted
    assert names[len(wanted) :] in ([], ["subject_ids"], PRIV.split())  # what is ours comes last
    assert (name in RESULTS) is ("subject_ids" not in names), "every memory can say whom it is about"
    needed = [field.name for field in found if field.default is MISSING and field.default_factory is MISSING]
    assert needed == [field.name for field in found][: REQUIRED[name]]


def test_lists_are_none_until_they_are_given() -> None:
    for name in PROTOCOL.keys() - {"SearchResult", "SyncConflict"}:
        for field in fields(getattr(types, name)):
            assert field.default_factory is MISSING
            assert field.default is MISSING or not isinstance(field.default, list)


@pytest.mark.parametrize(
    ("record", "confidence", "protected"),
    [
        (Value("v", "s", "care", "Care for data"), 0.9, True),
        (Drive("d", "s", "growth"), 0.8, True),
        (Belief("b", "s", "It rains"), 0.8, False),
    ],
)
def test_values_and_drives_are_protected_from_the_start(
    record: Any, confidence: float, protected: bool
) -> None:
    assert (record.confidence, record.is_protected) == (confidence, protected)


def test_raw_entries_answer_to_their_older_names() -> None:
    at = datetime(2026, 1, 2, tzinfo=UTC)
    new = RawEntry("r", "s", "said", at)
    assert (new.content, new.timestamp) == ("said", at)
    old = RawEntry("r", "s", content="said", timestamp=at)
    assert (old.blob, old.captured_at) == ("said", at)


def test_a_search_result_is_called_by_its_older_name_as_well() -> None:
    assert SearchResult("belief", "b", "It rains", 0.5).record_type == "belief"


def test_a_source_type_is_the_same_as_its_word() -> None:
    given: str = SourceType.DIRECT_EXPERIENCE
    assert given == "direct_experience"
    assert "observation" in words.VALID_SOURCE_TYPE_VALUES
    assert "processed" not in words.VALID_SOURCE_TYPE_VALUES
    assert set(words.SOURCES_OF_BRAINS.values()) <= words.VALID_SOURCE_TYPE_VALUES


def test_the_closed_vocabularies_have_the_papers_words() -> None:
    assert len(words.CATEGORIES) == 9
    assert len(words.EVENT_TYPES) == 10
    assert len(words.ENTITY_TYPES) == 10


@rows(
    "text, moment",
    [
        (None, None),
        ("", None),
        ("2026-03-04T05:06:07Z", datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)),
        ("2026-03-04T05:06:07.000008", datetime(2026, 3, 4, 5, 6, 7, 8, tzinfo=UTC)),
        ("2026-03-04T05:06:07+02:00", datetime(2026, 3, 4, 3, 6, 7, tzinfo=UTC)),
        ("2026-03-04", datetime(2026, 3, 4, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_as_an_aware_one(text: str | None, moment: datetime | None) -> None:
    found = parse_datetime(text)
    assert found == moment
    assert found is None or found.utcoffset() is not None


def test_the_offset_of_a_time_is_kept() -> None:
    found = parse_datetime("2026-03-04T05:06:07+02:00")
    assert found is not None
    assert found.utcoffset() == timedelta(hours=2)


@rows("text", ["yesterday", "2026-13-01", "1700000000.5x", "  "])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time"):
        parse_datetime(text)
