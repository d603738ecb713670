"""The closed vocabularies of memory, and their constants.

Source: the memory whitepaper, "memory typology" and "provenance chains"; the stack protocol.
"""

from __future__ import annotations

from enum import StrEnum


class SourceType(StrEnum):
    """The sources of a stack's memories."""

    DIRECT_EXPERIENCE = "direct_experience"
    INFERENCE = "inference"
    EXTERNAL = "external"
    CONSOLIDATION = "consolidation"
    PROCESSING = "processing"
    SEED = "seed"
    OBSERVATION = "observation"
    UNKNOWN = "unknown"


class MemoryType(StrEnum):
    """The kinds of memory that the stack protocol names; `relationship_history` stands beside them and is none."""

    EPISODE = "episode"
    BELIEF = "belief"
    VALUE = "value"
    GOAL = "goal"
    NOTE = "note"
    DRIVE = "drive"
    RELATIONSHIP = "relationship"
    RAW = "raw"
    PLAYBOOK = "playbook"
    TRUST_ASSESSMENT = "trust_assessment"
    ENTITY_MODEL = "entity_model"
    EPOCH = "epoch"
    SUMMARY = "summary"
    SELF_NARRATIVE = "self_narrative"
    SUGGESTION = "suggestion"


class StackState(StrEnum):
    INITIALIZING = "initializing"
    ACTIVE = "active"
    MAINTENANCE = "maintenance"


class SyncStatus(StrEnum):
    LOCAL_ONLY = "local_only"
    SYNCED = "synced"
    PENDING_PUSH = "pending_push"
    PENDING_PULL = "pending_pull"
    CONFLICT = "conflict"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


VALID_SOURCE_TYPE_VALUES = frozenset(SourceType)

# The paper's names for sources, and what a stack calls the same. Both are accepted; what was given is stored.
SOURCES_OF_BRAINS = {
    "user-written": SourceType.EXTERNAL,
    "agent-written": SourceType.DIRECT_EXPERIENCE,
    "tool-output": SourceType.OBSERVATION,
    "mcp-result": SourceType.OBSERVATION,
    "web-page": SourceType.EXTERNAL,
    "import": SourceType.EXTERNAL,
    "ingested-document": SourceType.EXTERNAL,
    "derived": SourceType.INFERENCE,
    "consolidation-promoted": SourceType.CONSOLIDATION,
}
SOURCES = VALID_SOURCE_TYPE_VALUES | SOURCES_OF_BRAINS.keys()

CATEGORIES = _words("convention decision environment identity integration lesson preference project user")
EVENT_TYPES = _words(
    "artifact decision error handoff result session_start session_end task_update warning observation"
)
ENTITY_TYPES = _words("agent concept document event location organization person project service tool")
TRIGGER_STATUSES = _words("pending fired retired expired snoozed")
LESSON_STATUSES = _words("active settled retired")

BELIEF_TYPES = _words(
    "assumption causal constraint evaluative fact factual hypothesis learned model observation opinion pattern"
    " preference principle procedural rule strategy"
)
NOTE_TYPES = _words("decision diagnostic fact insight note observation procedure quote reference")
GOAL_TYPES = _words("task aspiration commitment exploration")
GOAL_STATUSES = _words("active completed paused")
DRIVE_TYPES = _words("existence growth curiosity connection reproduction")
SUGGESTION_STATUSES = _words("pending promoted modified rejected dismissed expired")
SUGGESTION_MEMORY_TYPES = _words("belief note episode goal relationship value drive")
MASTERY_LEVELS = _words("novice competent proficient expert")
BELIEF_SCOPES = _words("self world relational")
ABSTRACTION_LEVELS = _words("specific domain universal")
EPOCH_TRIGGERS = _words("declared detected system")
SUMMARY_SCOPES = _words("month quarter year decade epoch")
NARRATIVE_TYPES = _words("identity developmental aspirational")
MODEL_TYPES = _words("behavioral preference capability")
RELATIONSHIP_EVENTS = _words("interaction trust_change type_change note")

CONTINUE = "continue from: "  # begins the next step of a handoff that left nothing open
# Strength tiers of the stack protocol: strong from 0.8, fading from 0.5, weak from 0.2, dormant above 0.
STRONG, FADING, WEAK = 0.8, 0.5, 0.2

# The token budget of what is loaded at once, and how tokens are estimated: a quarter of the characters, and a margin.
TOKEN_BUDGET, LEAST_TOKEN_BUDGET, MOST_TOKEN_BUDGET = 8000, 100, 50_000
ITEM_CHARACTERS = 500
CHARACTERS_PER_TOKEN, TOKEN_MARGIN = 4, 1.3
