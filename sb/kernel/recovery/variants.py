"""Other ways to undo a call than its undo record says: over later changes, or one path alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sb.kernel.recovery.reversal_guard import NoReversalToken
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversal_contracts import OVER, MutationRef
from sb.text import shorten_middle

NOT_RESTORED = "; it was not restored"  # behind why a path must not be
_FILES = "files"  # the argument of a reversal that lists paths, each a row with "path"


@dataclass(frozen=True)
class Variant:
    """How one call is to be undone.

    Args:
        tool_id, args: of the call that does it.
        over: also where something changed since.
        partial: only a part of it, so that the rest can be undone later.
    """

    tool_id: str
    args: dict[str, Any]
    over: bool = False
    partial: bool = False


def paths_of(ref: MutationRef) -> list[str]:
    """The paths that undoing a call restores, as far as its undo record names them."""
    rows = ref.reversal_args.get(_FILES)
    if isinstance(rows, list):
        return [str(row["path"]) for row in rows if isinstance(row, dict) and "path" in row]
    path = ref.reversal_args.get("path")
    return [path] if isinstance(path, str) else []


def snapshot_of(ref: MutationRef) -> tuple[str, list[dict[str, Any]]] | None:
    """The key of the snapshot that undoing a call restores, and the states that the call left; None for others."""
    args = ref.reversal_args
    if isinstance(args.get("key"), str) and isinstance(args.get(_FILES), list):
        return args["key"], args[_FILES]
    if isinstance(args.get("kept"), str) and isinstance(args.get("path"), str):
        return args["kept"], [{name: args.get(name) for name in ("path", "sha256", "mode")}]
    return None


def variant(ref: MutationRef, registry: ToolRegistry, *, force: bool = False, path: str = "") -> Variant:
    """The call that undoes another, as a person wants it.

    Args:
        force: overwrite what changed since.
        path: restore this path alone, and what is below it; "" for all.

    Raises:
        NoReversalToken: there is none of that kind.
    """
    tool_id, args, partial = ref.reversal_tool, ref.reversal_args, False
    if path:
        args, partial = _only(ref, path)
    if force:
        tool_id += OVER
        if tool_id not in registry:
            raise NoReversalToken(
                f"{ref.tool_id} cannot be undone over later changes", f"sb undo {ref.mutation_id}"
            )
    return Variant(tool_id, args, force, partial)


def _only(ref: MutationRef, path: str) -> tuple[dict[str, Any], bool]:
    if path not in paths_of(ref) and not any(path.startswith(f"{one}/") for one in paths_of(ref)):
        shown = shorten_middle(path, 80)
        raise NoReversalToken(f"{ref.mutation_id} did not change {shown}", f"sb undo show {ref.mutation_id}")
    rows = ref.reversal_args.get(_FILES)
    if not isinstance(rows, list):
        return ref.reversal_args, False
    chosen = [row for row in rows if row["path"] == path or row["path"].startswith(f"{path}/")]
    if not chosen:  # below a folder that the call removed as a whole
        chosen = [{"path": path, "sha256": None, "mode": None}]
    return {**ref.reversal_args, _FILES: chosen}, chosen != rows
