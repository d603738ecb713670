"""Door to `sb.kernel.policy.permissions`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.policy.permissions import PolicyAction, PolicyDecision, ToolPolicy

__all__ = ["PolicyAction", "PolicyDecision", "ToolPolicy"]
