"""Where are memories contained? In a stack: `SQLiteStack`, a view over the records that a `Brain` keeps too."""

from sb.errors import MaintenanceModeError, ProvenanceError, VersionConflictError
from sb.stack.sqlite_stack import SQLiteStack

__all__ = ["MaintenanceModeError", "ProvenanceError", "SQLiteStack", "VersionConflictError"]
