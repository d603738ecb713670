"""Door to `sb.kernel.execution.executor`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.execution.executor import ToolExecutor

__all__ = ["ToolExecutor"]
