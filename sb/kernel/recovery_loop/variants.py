"""Other ways to undo a call than its undo record says: over later changes, or one path alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sb.base.text import shorten_middle
from sb.base.values.frozen import frozen
from sb.kernel.compensation.reversal_guard import NoReversalToken
from sb.kernel.registry.registry import ToolRegistry
from sb.kernel.reversibility.contracts import OVER, MutationRef

NOT_RESTORED = "; it was not restored"  # behind why a path must not be
_FILES = "files"  # the argument of a reversal that lists paths, each a row with "path"


@frozen
class Variant:
    """Variant of an undo.

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


def snapshot_of(ref: MutationRef, path: str = "") -> tuple[str, list[dict[str, Any]]] | None:
    """The key of the snapshot that undoing a call restores, and the states that the call left; None for others.

    Args:
        path: of this path alone; "" for all.

    Raises:
        NoReversalToken: the call did not change that path.
    """
    args = _only(ref, path)[0] if path else ref.reversal_args
    if isinstance(args.get("key"), str) and isinstance(args.get(_FILES), list):
        return args["key"], args[_FILES]
    if isinstance(args.get("kept"), str) and isinstance(args.get("path"), str):
        return args["kept"], [{name: args.get(name) for name in ("path", "sha256", "mode")}]
    return None


def meet(paths: Sequence[str], others: Sequence[str]) -> bool:
    """True if a path is among others, above or below one of them."""
    return any(f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/") for a in paths for b in others)


def outside_of_git(paths: Sequence[str]) -> list[str]:
    """The paths that are no files of a repository itself, which change with most git commands."""
    return [path for path in paths if "/.git/" not in path]


def variant(
    ref: MutationRef,
    registry: ToolRegistry,
    *,
    force: bool = False,
    path: str = "",
    without_git: bool = False,
) -> Variant:
    """The call that undoes another, as a person wants it.

    Args:
        force: overwrite what changed since.
        path: restore this path alone, and what is below it; "" for all.
        without_git: leave a repository's own files as they are.

    Raises:
        NoReversalToken: there is none of that kind.
    """
    tool_id, args, partial = ref.reversal_tool, ref.reversal_args, False
    if path:
        args, partial = _only(ref, path)
    if without_git:
        own = outside_of_git(paths_of(ref))
        rows = [row for row in args[_FILES] if row["path"] in own]
        args, partial = {**args, _FILES: rows}, True
    if force:
        tool_id += OVER
        if tool_id not in registry:
            raise NoReversalToken(
                f"{ref.tool_id} cannot be undone over later changes", f"sb undo {ref.mutation_id}"
            )
    return Variant(tool_id, args, force, partial)


def _only(ref: MutationRef, path: str) -> tuple[dict[str, Any], bool]:
    if path not in paths_of(ref) and not any(path.startswith(f"{item}/") for item in paths_of(ref)):
        shown = shorten_middle(path, 80)
        raise NoReversalToken(f"{ref.mutation_id} did not change {shown}", f"sb undo show {ref.mutation_id}")
    rows = ref.reversal_args.get(_FILES)
    if not isinstance(rows, list):
        return ref.reversal_args, False
    chosen = [row for row in rows if row["path"] == path or row["path"].startswith(f"{path}/")]
    if not chosen:  # below a folder that the call removed as a whole
        chosen = [{"path": path, "sha256": None, "mode": None}]
    return {**ref.reversal_args, _FILES: chosen}, chosen != rows
