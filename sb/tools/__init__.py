"""The shipped tools, and the discovery of others.

`register_builtin` adds the shipped ones, `sb.tools.discovery` finds the others. What costs time to import
(http.client, ssl, subprocess, importlib.metadata) is imported by the call that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.config.groups import Files, Http, Shell
    from sb.kernel.registry.registry import ToolRegistry
    from sb.store.snapshots import SnapshotStore


def register_builtin(
    registry: ToolRegistry,
    files: Files,
    http: Http,
    shell: Shell,
    snapshots: SnapshotStore,
    protected: Sequence[Path],
) -> None:
    """Register the tools for files, http.get and shell.run.

    Args:
        snapshots: takes the former content of files that are changed.
        protected: files and folders that no tool is given even below a root: SB_HOME, and the database.
    """
    from sb.kernel.registry.registry import SHIPPED
    from sb.tools.files import register_files
    from sb.tools.http import register_http
    from sb.tools.roots import Roots
    from sb.tools.shell import register_shell

    roots = Roots(files.roots, protected, files.start)
    with registry.source(SHIPPED):
        register_files(registry, files, roots, snapshots)
        register_http(registry, http)
        register_shell(registry, shell, roots)
