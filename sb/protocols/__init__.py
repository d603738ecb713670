"""The protocols between core, stacks, components, plugins and models, with their data and errors."""

from sb.errors import (
    MaintenanceModeError,
    NoActiveStackError,
    PluginError,
    ProvenanceError,
    VersionConflictError,
)
from sb.errors import StoreError as StorageError
from sb.protocols.cores import CoreProtocol
from sb.protocols.envelopes import (
    Binding,
    ModelCapabilities,
    ModelChunk,
    ModelMessage,
    ModelResponse,
    ModelStatus,
    PluginHealth,
    PluginInfo,
    StackInfo,
    SyncResult,
    ToolDefinition,
)
from sb.protocols.models import InferenceService, ModelProtocol
from sb.protocols.plugins import PROTOCOL_VERSION, PluginContext, PluginProtocol
from sb.protocols.stacks import StackComponentProtocol, StackProtocol
from sb.protocols.types import SearchResult

__all__ = [
    "PROTOCOL_VERSION",
    "Binding",
    "CoreProtocol",
    "InferenceService",
    "MaintenanceModeError",
    "ModelCapabilities",
    "ModelChunk",
    "ModelMessage",
    "ModelProtocol",
    "ModelResponse",
    "ModelStatus",
    "NoActiveStackError",
    "PluginContext",
    "PluginError",
    "PluginHealth",
    "PluginInfo",
    "PluginProtocol",
    "ProvenanceError",
    "SearchResult",
    "StackComponentProtocol",
    "StackInfo",
    "StackProtocol",
    "StorageError",
    "SyncResult",
    "ToolDefinition",
    "VersionConflictError",
]
