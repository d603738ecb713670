"""Door to `sb.log.kinds`, under the name that the specification gives."""

from __future__ import annotations

from sb.log.kinds import meaning, namespaces, register, require

__all__ = ["meaning", "namespaces", "register", "require"]
