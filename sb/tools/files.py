"""Contracts of the shipped file tools."""

from __future__ import annotations

from dataclasses import replace

from sb.config.groups import Files
from sb.kernel.contracts import (
    RecoveryApprovalMode,
    ReversalClass,
    ReversalSpec,
    SafetyClass,
    ToolArgSchema,
    ToolReturnSchema,
)
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversibility.contracts import OVER
from sb.store.snapshots import SnapshotStore
from sb.tools.file_changes import FileChanges
from sb.tools.file_reading import FileReader
from sb.tools.file_restoring import FileRestoring
from sb.tools.file_search import FileSearch
from sb.tools.roots import Roots

RESTORE = "files.restore"
_KEEP = "false gives up undo, and a person has to agree to it (default true)."
# Both tools keep what was there under the call's idempotency key.
_RESTORED = ReversalSpec(
    ReversalClass.REVERSIBLE,
    compensation_capability=RESTORE,
    recovery_approval_mode=RecoveryApprovalMode.HUMAN,
    reversal_args={
        "path": "result.path",
        "kept": "call.idempotency_key",
        "sha256": "result.sha256",
        "mode": "result.mode",
    },
    irreversible_when={"keep": False},
    preview_capability="files.restorable",
)
_PATH = "Absolute path below an allowed folder, or a path relative to the first allowed folder. No '..', no links."


def register_files(registry: ToolRegistry, settings: Files, roots: Roots, snapshots: SnapshotStore) -> None:
    """Register files.read, files.list, files.search, files.write, files.delete and the reversals of the last two."""
    _register_reading(registry, settings, roots)
    _register_changes(registry, FileChanges(roots, snapshots))
    _register_restoring(registry, FileRestoring(roots, snapshots))


def _register_reading(registry: ToolRegistry, settings: Files, roots: Roots) -> None:
    reader = FileReader(roots, settings.max_read_bytes)
    registry.register_fn(
        "files.read",
        "Read a file",
        reader.read,
        description="Read a regular file. Text comes back as it is, other bytes as base64.",
        args_schema=[
            ToolArgSchema("path", description=_PATH),
            ToolArgSchema(
                "max_bytes",
                "integer",
                required=False,
                # No number here: a changed setting must not change the contract that was approved.
                description="Read at most this many bytes (default and most: the setting files.max_read_bytes).",
            ),
        ],
        returns_schema=ToolReturnSchema(
            "object",
            "path, content, encoding (utf-8 or base64), bytes (in content), truncated (there is more)",
        ),
    )
    registry.register_fn(
        "files.list",
        "List a folder",
        reader.list,
        description="List one folder, sorted by name. Links are listed but never followed.",
        args_schema=[ToolArgSchema("path", required=False, description=f"The folder (default '.'). {_PATH}")],
        returns_schema=ToolReturnSchema(
            "object",
            "path, entries of {name, type: file|folder|link|other, bytes: of a file, else null}, truncated",
        ),
    )
    registry.register_fn(
        "files.search",
        "Search files",
        FileSearch(roots).search,
        description="Find lines that hold a literal text (case counts, no patterns) in the files below a folder. "
        "Binary and over-large files are skipped, and so are folders whose name begins with a dot unless path "
        "names one.",
        args_schema=[
            ToolArgSchema("query", description="The text to find, within one line."),
            ToolArgSchema("path", required=False, description=f"The folder to search (default '.'). {_PATH}"),
            ToolArgSchema(
                "glob",
                required=False,
                description="Only files whose name matches, such as *.py (default: all).",
            ),
        ],
        returns_schema=ToolReturnSchema(
            "object",
            "matches of {path, line: from 1, text}, truncated (a bound was reached, there may be more), "
            "skipped (files and folders that were not searched)",
        ),
        timeout_ms=30_000,
    )


def _register_changes(registry: ToolRegistry, changes: FileChanges) -> None:
    facts = ToolReturnSchema(
        "object",
        "path, bytes, sha256 and mode of the file as it is now (0 and null: deleted), created, kept (key of the kept "
        "former content, or null), prior (sha256, bytes and mode of the former file, or null)",
    )
    registry.register_fn(
        "files.write",
        "Write a file",
        changes.write,
        SafetyClass.LOCAL_WRITE,
        "Make or overwrite one regular file, completely or not at all. The former content is kept for undo.",
        idempotent=True,
        args_schema=[
            ToolArgSchema("path", description=_PATH),
            ToolArgSchema("content", description="The whole new content."),
            ToolArgSchema(
                "encoding", required=False, description="How content is encoded: utf-8 (default) or base64."
            ),
            ToolArgSchema(
                "parents", "boolean", required=False, description="Make missing folders (default false)."
            ),
            ToolArgSchema("keep", "boolean", required=False, description=_KEEP),
        ],
        returns_schema=facts,
        timeout_ms=30_000,
        reversal=_RESTORED,
    )
    registry.register_fn(
        "files.delete",
        "Delete a file",
        changes.delete,
        SafetyClass.LOCAL_WRITE,
        "Delete one regular file, never a folder. Its content is kept for undo.",
        idempotent=False,
        args_schema=[
            ToolArgSchema("path", description=_PATH),
            ToolArgSchema("keep", "boolean", required=False, description=_KEEP),
        ],
        returns_schema=facts,
        timeout_ms=30_000,
        reversal=_RESTORED,
    )


def _register_restoring(registry: ToolRegistry, restoring: FileRestoring) -> None:
    args = [
        ToolArgSchema("path", description=_PATH),
        ToolArgSchema("kept", description="The key of the kept former content."),
        ToolArgSchema(
            "sha256",
            "any",
            required=False,
            description="Of the file as it is to be found; null: there is none.",
        ),
        ToolArgSchema(
            "mode", "any", required=False, description="Its permission bits; null: they do not matter."
        ),
    ]
    registry.register_fn(
        RESTORE,
        "Restore a file",
        restoring.restore,
        SafetyClass.LOCAL_WRITE,
        "Put a file back to what it was before files.write or files.delete changed it, unless it changed since.",
        idempotent=True,
        args_schema=args,
        allowlisted_agents=["recovery"],
        returns_schema=ToolReturnSchema(
            "object", "path, existed (before), sha256 and mode as they are again"
        ),
        timeout_ms=30_000,
    )
    registry.register_fn(
        f"{RESTORE}{OVER}",
        "Restore a file over later changes",
        restoring.restore_over,
        SafetyClass.LOCAL_WRITE,
        "Put a file back to what it was before files.write or files.delete changed it, also if it changed since. What is "
        "there now is kept first.",
        idempotent=True,
        args_schema=args,
        allowlisted_agents=["recovery"],
        returns_schema=ToolReturnSchema(
            "object", "path, existed (before), sha256 and mode as they are again"
        ),
        timeout_ms=30_000,
        reversal=replace(_RESTORED, irreversible_when={}),
    )
    registry.register_fn(
        "files.restorable",
        "Can a file be restored?",
        restoring.restorable,
        description="Say whether files.restore would work now, and what it would do.",
        args_schema=args,
        allowlisted_agents=["recovery"],
        returns_schema=ToolReturnSchema("object", "ok, detail"),
        timeout_ms=30_000,
    )
    registry.register_fn(
        "files.digest",
        "Digest of a file",
        restoring.digest,
        description="The SHA-256 of one regular file, as hex; null when there is none. Tells whether it changed.",
        args_schema=[ToolArgSchema("path", description=_PATH)],
        returns_schema=ToolReturnSchema("object", "path, sha256"),
        timeout_ms=30_000,
    )
