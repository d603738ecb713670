"""Where are memories contained? In a stack: `SQLiteStack`, a view over the records that a `Brain` keeps too."""

from typing import TYPE_CHECKING

from sb.errors import MaintenanceModeError, ProvenanceError, VersionConflictError

if TYPE_CHECKING:
    from sb.stack.sqlite_stack import SQLiteStack
else:
    from sb.lazy import lazy_exports

    __getattr__ = lazy_exports(__name__, {"sb.stack.sqlite_stack": ("SQLiteStack",)})

__all__ = ["MaintenanceModeError", "ProvenanceError", "SQLiteStack", "VersionConflictError"]
