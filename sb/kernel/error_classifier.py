"""Door to `sb.kernel.failures.classifier`, under the name that the specification gives."""

from __future__ import annotations

from sb.kernel.error_kinds import ErrorKind, tool_failure
from sb.kernel.failures.classifier import classify

__all__ = ["ErrorKind", "classify", "tool_failure"]
