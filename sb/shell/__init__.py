"""Judge a shell command line by parsing it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.shell.credentials.taints import Upload as Upload
    from sb.shell.verdict import ShellVerdict as ShellVerdict
    from sb.shell.verdict import classify as classify
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {"sb.shell.credentials.taints": "Upload", "sb.shell.verdict": "ShellVerdict classify"},
    )
