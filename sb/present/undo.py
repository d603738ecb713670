"""Undo records: the cells of `sb undo --list`, and what `sb undo show` tells of one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sb.base.text import counted, human_bytes, revealed_line, shorten
from sb.base.values.frozen import frozen
from sb.kernel.recovery_loop.variants import paths_of, snapshot_of
from sb.kernel.reversibility.contracts import MutationRef, MutationState
from sb.log.event_log import EventLog
from sb.present.calls import OBJECTS
from sb.present.kind import Field, Kind
from sb.present.recovery import NO_UNDO, state_word
from sb.present.times import ago, left, moment
from sb.store.pack_file import EXTRA, FILE, LINK, Entry
from sb.store.snapshots import SnapshotStore

WIDEST_OBJECT = 48  # characters of the command or file in a list of at most 100 columns
_WIDEST_WHAT = 12
GONE = "snapshot gone"
RESTORES = ("host.restore", "files.restore")  # tools that put files back from a snapshot
_MODES = {"auto": ", without asking", "dual_control": ", with two approvals"}
_WORDS = {"undoable": "yes", "reversed": "undone", NO_UNDO: "no", "unknown": "unknown"}


@frozen
class UndoRecord:
    """An undo record as it is shown, with its call as the log has it.

    Args:
        args, result: {} each once the log was pruned.
        shortened: texts are cut to fit a list of at most 100 columns.
    """

    ref: MutationRef
    args: Mapping[str, Any]
    result: Mapping[str, Any]
    snapshots: SnapshotStore
    shortened: bool = False


def undo_record(
    ref: MutationRef, log: EventLog, snapshots: SnapshotStore, *, shortened: bool = False
) -> UndoRecord:
    """Read the call of an undo record."""
    return UndoRecord(ref, *_call_facts(ref, log), snapshots, shortened)


def _what(about: UndoRecord, now: int) -> str:
    """The tool, as its host calls it."""
    tool = revealed_line(str(about.args.get("tool") or about.ref.tool_id))
    return shorten(tool, _WIDEST_WHAT) if about.shortened else tool


def _object(about: UndoRecord, now: int) -> str:
    text = object_of(about.ref, about.args)
    return _fitted(text, WIDEST_OBJECT) if about.shortened else text


def _undo_word(about: UndoRecord, now: int) -> str:
    """In at most three words, whether a call can be undone."""
    ref, word = about.ref, state_word(about.ref, now)
    if word != "undoable":
        return _WORDS.get(word, word)
    snapshot = snapshot_of(ref)
    if snapshot is not None and not about.snapshots.holds(snapshot[0], paths_of(ref)):
        return GONE
    yes = "in part" if _is_partial(about.args, about.result) else "yes"
    return yes if ref.window_ends_at is None else f"{yes}, {left(ref.window_ends_at, now)}"


UNDO = Kind[UndoRecord](
    Field("done", lambda it, now: ago(it.ref.bound_at, now)),
    Field("what", _what),
    Field("object", _object, title="command or file"),
    Field("undo", _undo_word),
    Field("id", lambda it, now: it.ref.mutation_id),
    Field("agent", lambda it, now: revealed_line(it.ref.agent)),
    Field("run", lambda it, now: it.ref.run_id),
    faces={
        "table": "done,what,object,undo,id",
        "all": "done,what,object,undo,id,agent,run",
    },
    json={"+": "mutation", "what object undo": "string"},
    stored=lambda it: it.ref,
)


def _fitted(text: str, widest: int) -> str:
    """A command with its beginning, a path with its end."""
    if len(text) <= widest or not text.startswith("/"):
        return shorten(text, widest)
    return "…" + text[len(text) - widest + 1 :]


def call_args(ref: MutationRef, log: EventLog) -> Mapping[str, Any]:
    """The arguments of the call as the log has them, masked; {} once they were pruned."""
    return _call_facts(ref, log)[0]


def folder_of(ref: MutationRef, log: EventLog) -> str:
    """The folder in which a command line ran; "" for other calls, and once the log was pruned."""
    return str(call_args(ref, log).get("cwd") or "")


def _call_facts(ref: MutationRef, log: EventLog) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The arguments and the result of the call as the log has them; {} each once they were pruned."""
    args: Mapping[str, Any] = {}
    result: Mapping[str, Any] = {}
    for event in log.events(run_id=ref.run_id, call_id=ref.call_id):
        payload = event.payload or {}
        if not args and isinstance(payload.get("args"), dict):
            args = payload["args"]
        if isinstance(payload.get("result"), dict):
            result = payload["result"]
    return args, result


def _is_partial(args: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """True for a call of whose changes only a part can be restored."""
    if result.get("tree") is True:
        return bool(result.get("not_restored"))
    return bool(args.get("partly") or args.get("tree"))


def object_of(ref: MutationRef, args: Mapping[str, Any]) -> str:
    """One line: the object of a call, its command, files, or tool with arguments."""
    named = next((args[name] for name in OBJECTS if isinstance(args.get(name), str)), "")
    if named:
        return " ".join(revealed_line(named).split())
    listed = args.get("paths")
    paths = [str(path) for path in listed] if isinstance(listed, list) and listed else paths_of(ref)
    if paths:
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        return revealed_line(paths[0]) + more
    values = ", ".join(f"{name}={value}" for name, value in args.items() if name != "tool")
    return revealed_line(f"{ref.tool_id}({values})" if values else ref.tool_id)


def about(ref: MutationRef, log: EventLog, snapshots: SnapshotStore, now: int) -> list[str]:
    """The lines that tell what a call did and whether it can be undone."""
    record = undo_record(ref, log, snapshots)
    done, what, object, undo, _, agent, run = (cell.text for cell in UNDO.cells(record, now, "all"))
    lines = [f"{what}: {object}", f"{moment(ref.bound_at)} ({done}) by {agent} in {run}", f"undo: {undo}"]
    if ref.no_way_back and ref.state is MutationState.COMMITTED:
        lines.append(f"why not: {revealed_line(ref.no_way_back)}")
    result = record.result
    if isinstance(why := result.get("tree_why"), str) and not ref.no_way_back:
        lines.append(f"only files that the line names: {revealed_line(why)}")
    lines += _not_restored(result)
    led = result.get("led_elsewhere")
    for item in led if isinstance(led, list) else []:
        real = revealed_line(str(item.get("to"))) or "elsewhere"
        lines.append(f"written to {real}, by a link that a program put in the way: undo cannot restore that")
    if isinstance(number := result.get("overlapping"), int):
        lines.append(
            f"{counted(number, 'other call')} ran in the project meanwhile; what they changed counts too"
        )
    return lines


def not_restored(ref: MutationRef, log: EventLog) -> list[str]:
    """The lines that name changes of a call of which no content is stored, so that undo leaves them."""
    return _not_restored(_call_facts(ref, log)[1])


def _not_restored(result: Mapping[str, Any]) -> list[str]:
    left = result.get("not_restored")
    rows = [(str(item.get("path")), str(item.get("why"))) for item in left] if isinstance(left, list) else []
    return [f"not restored: {revealed_line(path)} ({revealed_line(why)})" for path, why in rows]


def entry_row(entry: Entry) -> tuple[str, str, str, str]:
    """One path of a snapshot: kind, mode, size, and the path with the target of a link."""
    path = revealed_line(entry.path)
    if entry.kind == LINK:
        path += f" -> {revealed_line(entry.target)}"
    size = human_bytes(entry.size) if entry.kind in (FILE, EXTRA) else "-"
    return entry.kind, f"{entry.mode:04o}" if entry.kind != LINK and entry.mode else "-", size, path


def undo_ahead(args: Mapping[str, Any], reversal: Mapping[str, Any]) -> str:
    """True if a call that did not run yet could be undone.

    Args:
        reversal: the reversal contract of its tool as plain JSON; {} for none.
    """
    if args.get("tree"):
        return "restores what it changes in the project, whose tree is stored first"
    if args.get("partly"):
        return "in part: a snapshot of the files that it names is taken first"
    tool, never = reversal.get("compensation_capability"), reversal.get("irreversible_when")
    if not tool or any(args.get(name) == value for name, value in dict(never or {}).items()):
        return NO_UNDO
    if tool in RESTORES:
        return "restores a snapshot that is taken first"
    return f"by {revealed_line(str(tool))}{_MODES.get(str(reversal.get('recovery_approval_mode')), '')}"
