"""The base of all components: inference, storage and hooks that do nothing."""

from __future__ import annotations

from typing import Any

from sb.protocols import InferenceService
from sb.protocols.types import SearchResult
from sb.stack.registry import no_op
from sb.stack.storage import StackStorage


class Component:
    """A component that does nothing yet; each of the eight says what it does in some of the hooks.

    Attributes:
        required: whether a stack keeps it. needs_inference: whether it does more with a model than without.
    """

    name = ""
    version = "1"
    required = False
    needs_inference = False

    def __init__(self) -> None:
        self._inference: InferenceService | None = None
        self._storage: StackStorage | None = None
        self._stack_id = ""

    def arguments(self) -> dict[str, Any]:
        """Returns the constructor arguments as JSON, so that a checkpoint can rebuild the component."""
        return {}

    def attach(self, stack_id: str, inference: InferenceService | None = None) -> None:
        """Belong to a stack."""
        self._stack_id, self._inference = stack_id, inference

    def detach(self) -> None:
        """Belong to no stack."""
        self._stack_id, self._inference, self._storage = "", None, None

    def set_inference(self, inference: InferenceService | None) -> None:
        """Use another model, or none."""
        self._inference = inference

    def set_storage(self, storage: StackStorage | None) -> None:
        """Use the memories of a stack, or none."""
        self._storage = storage

    @no_op
    def on_save(self, memory_type: str, memory_id: str, memory: Any) -> dict[str, Any] | None:
        return None

    @no_op
    def on_search(self, query: str, results: list[SearchResult]) -> list[SearchResult]:
        return results

    def on_load(self, context: dict[str, Any]) -> None:
        """Add nothing."""

    def on_maintenance(self) -> dict[str, Any]:
        """Does what is due; returns what was done, or why it was skipped."""
        if self._storage is None:
            return {"skipped": True, "reason": "it has no storage"}
        if not self._storage.writable:
            return {"skipped": True, "reason": "the stack cannot be written now"}
        return self._maintain(self._storage)

    def _maintain(self, storage: StackStorage) -> dict[str, Any]:
        return {}
