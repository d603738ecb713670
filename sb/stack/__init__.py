"""Stacks: containers of memories. `SQLiteStack` is a view over the records that a `Brain` keeps too."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.errors import MaintenanceModeError as MaintenanceModeError
    from sb.errors import ProvenanceError as ProvenanceError
    from sb.errors import VersionConflictError as VersionConflictError
    from sb.stack.sqlite_stack import SQLiteStack as SQLiteStack
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.errors": "MaintenanceModeError ProvenanceError VersionConflictError",
            "sb.stack.sqlite_stack": "SQLiteStack",
        },
    )
