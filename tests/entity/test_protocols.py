"""The protocols: what they list, and what is handed between their parts, field by field."""

from __future__ import annotations

import inspect
from dataclasses import MISSING, fields
from typing import Any

import pytest

from sb import protocols
from sb.errors import ExitCode, SBError, StoreError
from sb.protocols import CoreProtocol, StackProtocol, SyncResult, VersionConflictError
from tests.rows import rows

# The core protocol and the stack protocol: properties, then methods with the parameters that they name.
STACK_PROPERTIES = {"stack_id", "schema_version", "components"}
STACK = """
save_episode(episode) save_belief(belief) save_value(value) save_goal(goal) save_note(note) save_drive(drive)
save_relationship(relationship) save_raw(raw) save_playbook(playbook) save_epoch(epoch) save_summary(summary)
save_self_narrative(narrative) save_suggestion(suggestion)
update_drive_atomic(drive,expected_version=None) update_relationship_atomic(relationship,expected_version=None)
get_suggestion(suggestion_id) accept_suggestion(suggestion_id,modifications=None)
get_suggestions(*,status=None,memory_type=None,limit=100,min_confidence=None,max_age_hours=None,source_raw_id=None)
dismiss_suggestion(suggestion_id,reason=None)
save_episodes_batch(episodes) save_beliefs_batch(beliefs) save_notes_batch(notes)
get_episodes(*,limit=50,tags=None,context=None,include_weak=False,include_forgotten=False)
get_beliefs(*,limit=50,belief_type=None,min_confidence=None,include_weak=False,include_forgotten=False)
get_values(*,limit=50,context=None,include_weak=False,include_forgotten=False)
get_goals(*,limit=50,status=None,context=None,include_weak=False,include_forgotten=False)
get_notes(*,limit=50,note_type=None,context=None,include_weak=False,include_forgotten=False)
get_drive(drive_type) get_drives(*,include_expired=False) get_relationship(entity_name)
get_relationships(*,entity_id=None,entity_type=None,min_trust=None) get_raw(*,limit=50,tags=None)
get_memory(memory_type,memory_id) search(query,*,limit=10,record_types=None,context=None,min_confidence=None)
load(*,token_budget=8000,context=None) record_access(memory_type,memory_id)
update_memory_meta(memory_type,memory_id,*,confidence=None,tags=None) forget_memory(memory_type,memory_id,reason)
recover_memory(memory_type,memory_id) protect_memory(memory_type,memory_id,protected=True)
save_trust_assessment(assessment) get_trust_assessments(*,entity_id=None,domain=None)
compute_trust(entity_id,domain=None) promote(*,context=None) apply_forgetting(*,protect_identity=True)
sync() pull_changes(*,since=None) get_pending_sync_count() is_online() get_stats()
dump(*,format='markdown',include_raw=True,include_forgotten=False) export(path,*,format='markdown')
on_attach(core_id,inference=None) on_detach(core_id) on_model_changed(inference=None)
add_component(component) remove_component(name) get_component(name) maintenance()
"""
CORE_PROPERTIES = {"core_id", "model", "active_stack", "stacks", "plugins"}
CORE = """
set_model(model) attach_stack(stack,*,alias=None,set_active=True) detach_stack(stack_id) set_active_stack(stack_id)
load_plugin(plugin) unload_plugin(name) discover_plugins() checkpoint(message='') from_checkpoint(path) get_binding()
search(query,*,limit=10,record_types=None,context=None) load(*,token_budget=8000,context=None) status()
trust_set(entity,domain,score,*,evidence=None) trust_get(entity,*,domain=None) trust_list(*,domain=None,min_score=None)
episode(objective,outcome,*,lessons=None,tags=None,source=None,context=None)
belief(statement,*,type='fact',confidence=0.8,foundational=False,source=None)
value(name,statement,*,priority=50,type='core_value',foundational=False)
goal(title,*,description=None,goal_type='task',priority='medium')
note(content,*,type='note',speaker=None,tags=None,protect=False,source=None)
drive(drive_type,*,intensity=None,focus_areas=None)
relationship(other_stack_id,*,trust_level=None,notes=None,entity_type=None) raw(blob,*,source=None)
"""

ENVELOPES = {
    "SyncResult": "pushed=0 pulled=0 conflicts=0 errors=[] notes=[]",
    "StackInfo": "stack_id alias=None schema_version=0 stats={} is_active=False",
    "PluginInfo": "name version description capabilities=[] is_loaded=False",
    "PluginHealth": "healthy message='' details={}",
    "Binding": "core_id model_config stacks active_stack_id=None plugins=[] created_at=None metadata={}"
    " stack_locations={}",
    "ModelCapabilities": "model_id provider context_window max_output_tokens=4096 supports_tools=False"
    " supports_vision=False supports_streaming=True",
    "ModelMessage": "role content name=None tool_call_id=None tool_calls=None",
    "ModelResponse": "content tool_calls=[] usage={} stop_reason=None model_id=None",
    "ModelChunk": "content='' tool_call=None is_final=False usage=None",
    "ModelStatus": "provider available error_class=None error_message=None degraded=False",
    "ToolDefinition": "name description input_schema handler=None safety_class=None",
}


def signature(function: Any) -> str:
    """The parameters without their types."""
    found = inspect.signature(function)
    plain = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()]
    parameters = [each for each in plain if each.name not in ("self", "cls")]
    return str(inspect.Signature(parameters)).replace(" ", "")


@pytest.mark.parametrize(
    ("protocol", "properties", "methods"),
    [(StackProtocol, STACK_PROPERTIES, STACK), (CoreProtocol, CORE_PROPERTIES, CORE)],
)
def test_a_protocol_lists_what_its_document_does_and_nothing_else(
    protocol: type, properties: set[str], methods: str
) -> None:
    listed = {name: value for name, value in vars(protocol).items() if not name.startswith("_")}
    assert {name for name, value in listed.items() if isinstance(value, property)} == properties
    found = {name + signature(getattr(protocol, name)) for name in listed if name not in properties}
    assert found == set(methods.split())


@rows("name", ENVELOPES)
def test_what_is_handed_over_has_the_fields_of_the_documents_in_their_order(name: str) -> None:
    def with_default(field: Any) -> str:
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        return field.name if default is MISSING else f"{field.name}={default!r}"

    assert " ".join(map(with_default, fields(getattr(protocols, name)))) == ENVELOPES[name]


def test_what_an_object_has_decides_whether_it_meets_a_protocol() -> None:
    class Component:
        name, version, required, needs_inference = "mood", "1", False, False

        def attach(self, stack_id: str, inference: Any = None) -> None: ...
        def detach(self) -> None: ...
        def set_inference(self, inference: Any) -> None: ...
        def on_save(self, memory_type: str, memory_id: str, memory: Any) -> None: ...
        def on_search(self, query: str, results: list[Any]) -> list[Any]:
            return results

        def on_load(self, context: dict[str, Any]) -> None: ...
        def on_maintenance(self) -> dict[str, Any]:
            return {}

    assert isinstance(Component(), protocols.StackComponentProtocol)
    assert not isinstance(Component(), StackProtocol)
    for name in ("CoreProtocol", "PluginProtocol", "PluginContext", "ModelProtocol", "InferenceService"):
        assert not isinstance(Component(), getattr(protocols, name))


def test_every_error_can_be_shown_to_a_person() -> None:
    for name in ("NoActiveStackError", "PluginError", "ProvenanceError", "MaintenanceModeError"):
        error = getattr(protocols, name)("what was wrong", "what to do")
        assert isinstance(error, SBError)
        assert (str(error), error.hint, error.exit_code) == ("what was wrong", "what to do", ExitCode.FAILED)
    assert protocols.StorageError is StoreError


def test_a_conflict_of_versions_says_which_record_and_which_versions() -> None:
    error = VersionConflictError("drive", "d1", 2, 3)
    assert isinstance(error, SBError)
    assert (error.table, error.record_id, error.expected_version, error.actual_version) == (
        "drive",
        "d1",
        2,
        3,
    )
    assert str(error) == "drive d1 is at version 3, not 2"


def test_conflicts_of_a_synchronisation_have_two_names() -> None:
    assert SyncResult(conflicts=3).conflict_count == 3
    assert protocols.PROTOCOL_VERSION == 1
