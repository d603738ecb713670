"""Snapshots taken before command lines, so that nobody has to be asked."""

from __future__ import annotations

import math
import os
import re
import shlex
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from sb.base.secrets.redaction import one_line
from sb.config import Config
from sb.hosts.hooks.calls.context import JudgingContext
from sb.hosts.hooks.event import GovernedCall, NativeCall
from sb.hosts.hooks.judged_call import JudgedCall
from sb.hosts.hooks.session import HookSession
from sb.kernel.calls.intents import Intent
from sb.kernel.contracts import SafetyClass
from sb.kernel.execution.external import Report
from sb.runtime.parts import trees_off
from sb.shell.handlers.sql import OF_SQLITE
from sb.shell.parsing.words import BRACKET, QUESTION, STAR, is_literal
from sb.shell.programs.rules import DESTROY, NETWORK, READ
from sb.shell.programs.ruleset import judged_by
from sb.shell.snapshots.area import Area, Limits, Plan, named_files, plan, project_of_area, unguarded_file
from sb.shell.snapshots.local_effects import (
    ENDS_PROCESSES,
    FILE_TOOLS,
    REDIRECTIONS,
    harms_files_alone,
    is_of_files,
    moves_files,
)
from sb.shell.snapshots.overwriting import Change
from sb.tools.hosted.contracts import KEPT, KEPT_IN_PART, KEPT_NETWORK, SHELL
from sb.tools.hosted.files import EXTRA, PART, SESSION, HostedFiles
from sb.tools.hosted.trees import KNOWN, TreeChange

_PATTERN = f"[{STAR}{QUESTION}{BRACKET}]"
_MOST_FOLDERS = 16
_GOES = frozenset(("cd", "pushd", "popd"))
_OF_DATABASE = ("", "-wal", "-shm", "-journal")  # endings of the files that are one of SQLite
MOST_PATHS = 1000  # that one undo record names
MOST_OF_AN_ERROR = 300  # characters
KEPT_TOOLS = (KEPT, KEPT_NETWORK)
# Calls that may change more than their lines name, and the contracts under which a tree is stored first.
_WITH_TREE = {
    SHELL[SafetyClass.LOCAL_WRITE]: KEPT,
    SHELL[SafetyClass.NETWORK]: KEPT_NETWORK,
    KEPT: KEPT,
    KEPT_NETWORK: KEPT_NETWORK,
}


def with_snapshot(
    call: JudgedCall,
    governed: GovernedCall,
    session: HookSession,
    *,
    confined: bool | None = None,
    may_run_own: bool = False,
) -> GovernedCall:
    """The call under the contract that takes a snapshot first, or as it is where that does not hold.

    Where a snapshot would do but cannot be taken, its `why` says so. What goes on whatever it changes, since not all of
    that is known, goes on after a snapshot of the files that it names.

    Args:
        confined: the system holds the call to the project and scratch; None for a snapshot of what the line names alone.
        may_run_own: as `kept_in`.
    """
    own_processes = bool(confined) and session.confining.has_own_processes
    if not _may_be_kept(governed, session):
        return governed
    with judged_by(session.context.rules):
        if confined is None:
            return _named_kept(governed, _area(session))
        stored = kept_in(
            call,
            governed,
            _area(session),
            confined=confined,
            own_processes=own_processes,
            may_run_own=may_run_own,
        )
    return _with_room(stored, governed, session)


def with_part(governed: GovernedCall, session: HookSession) -> GovernedCall:
    """A call whose snapshot could not be taken, with one of the part of its changes that can be stored."""
    if not _may_be_kept(governed, session):
        return governed
    with judged_by(session.context.rules):
        return _with_room(_in_part(governed, _area(session)), governed, session)


def _with_room(stored: GovernedCall, governed: GovernedCall, session: HookSession) -> GovernedCall:
    """The call as it was, where the store has too little room for the part."""
    return governed if stored.part and session.files.too_large(stored.part) else stored


def _in_part(governed: GovernedCall, area: Callable[[], Area]) -> GovernedCall:
    if (
        governed.tool_id != SHELL[SafetyClass.DESTRUCTIVE]
        or governed.refused
        or "command" not in governed.args
    ):
        return governed
    from sb.hosts.hooks.snapshots.in_part import in_part  # few lines need it

    return in_part(governed, area(), MOST_PATHS)


def _may_be_kept(governed: GovernedCall, session: HookSession) -> bool:
    destroys = governed.safety_class is SafetyClass.DESTRUCTIVE
    denied = destroys and session.calls.was_denied(session.run, governed.tool_id, governed.args)
    return session.config.hooks.keep and not denied


def _area(session: HookSession) -> Callable[[], Area]:
    def area() -> Area:
        # The project and the time of the session's first event.
        facts, begun = session.started or ({"project": session.project}, session.runtime.log.clock.now())
        return area_of(session.context, session.config, str(facts.get("project", "")), begun)

    return cache(area)


def kept_in(
    call: JudgedCall,
    governed: GovernedCall,
    area: Callable[[], Area],
    *,
    confined: bool,
    own_processes: bool = False,
    may_run_own: bool = False,
) -> GovernedCall:
    """The same where the places of a session are known; raises nothing, and takes no snapshot.

    Args:
        confined: the system holds the call to the project and scratch.
        own_processes: such a call reaches no process of the person.
        may_run_own: it only reads by its text, and may run what lies in the project.
    """
    area = cache(area)
    named = _named_kept(governed, area)
    if may_run_own and named.tool_id == SHELL[SafetyClass.READ_ONLY]:
        return _stored_first(named, area, KEPT)
    if confined and named == governed:
        return _in_part(_held(call, named, area, own_processes), area)
    return _in_part(_with_tree(named, area), area)


def _held(
    call: JudgedCall, governed: GovernedCall, area: Callable[[], Area], own_processes: bool
) -> GovernedCall:
    """A destructive call that is confined and only harms files, with all of these stored first; else as it is."""
    if governed.safety_class is not SafetyClass.DESTRUCTIVE or governed.refused or governed.asks:
        return _with_tree(governed, area)
    if "command" not in governed.args or not (tree := area().tree):
        return governed
    commands = governed.effects.commands
    # What a line moves is judged as it is before it: the tree has no ignored files.
    alone = harms_files_alone(commands) and not any(map(moves_files, commands))
    beside = _changes_beside(call, governed, own_processes)
    if beside is None and not alone:
        return governed
    named = governed.effects.changes.changes or ()
    planned = plan(list(dict.fromkeys((*named, *(beside or ())))), area())
    if planned.why or len(planned.keep) > MOST_PATHS:
        return governed
    args = {**governed.args, "paths": list(planned.keep), "stands_for": [governed.tool_id], "tree": tree}
    return governed._replace(tool_id=KEPT, args=args, safety_class=SafetyClass.LOCAL_WRITE)


def _changes_beside(
    call: JudgedCall, governed: GovernedCall, own_processes: bool
) -> tuple[Change, ...] | None:
    """The changes of a line's commands that only harm files, as far as each tells them alone; None if another one destroys."""
    line, commands = str(governed.args["command"]), governed.effects.commands
    judged = partial(call.context.classify, cwd=call.context.cwd / str(governed.args.get("cwd", "")))

    elsewhere = "CDPATH" in line or "CDPATH" in os.environ
    cwd = call.context.cwd / str(governed.args.get("cwd", ""))
    anywhere = _folders(commands, cwd)  # for a command whose own folder is not known
    placed = [
        (argv, list(dict.fromkeys((folder, os.path.realpath(folder)))) if folder else anywhere)
        for argv, folder in zip(commands, governed.effects.folders, strict=True)
    ]

    if elsewhere or not all(
        folders for argv, folders in placed if is_of_files(argv)
    ):  # which files they change is not known
        ends = ENDS_PROCESSES if own_processes else ()
        verdict = judged(line, comes_back=lambda argv: argv[0] in (*_GOES, *ends))
        if any(map(moves_files, commands)):
            return None
        return None if verdict.safety_class is SafetyClass.DESTRUCTIVE else ()
    changes = list[Change]()

    def comes_back(argv: Sequence[str]) -> bool:
        if argv[0] == OF_SQLITE:
            is_file = os.path.isfile(argv[1]) and not os.path.islink(argv[1])
            changes.extend(Change(f"{argv[1]}{ending}") for ending in _OF_DATABASE if is_file)
            return is_file
        # An unknown program is held as a known one is: it may be any of the project's.
        unknown = not is_literal(argv[0]) or argv[0].startswith("-") or argv[0] == "parallel"
        return unknown or is_of_files(argv) or (own_processes and argv[0] in ENDS_PROCESSES)

    if judged(line, comes_back=comes_back).safety_class is SafetyClass.DESTRUCTIVE:
        return None
    for argv, folders in placed:
        if is_of_files(argv) and argv[0] not in REDIRECTIONS:
            # A pattern of names is written as one again: in quotes it would name one file.
            text = " ".join(re.sub(_PATTERN, "'*'", shlex.quote(word)) for word in argv)
            for folder in folders:
                changed = call.context.classify(text, cwd=Path(folder)).changes.changes
                if not changed and moves_files(argv):
                    return None
                changes += changed or ()
    return tuple(dict.fromkeys(changes))


def _folders(commands: Sequence[tuple[str, ...]], cwd: Path) -> list[Path]:
    """The folders that a line may be in, as far as it names those that it goes to; none if it does not."""
    folders = [cwd]
    for argv in commands:
        if argv[0] in _GOES and argv[1:] != ("-",):
            if argv[0] != "cd" or len(argv) != 2 or not is_literal(argv[1]) or argv[1][:1] in "-~":
                return []
            folders += [folder / argv[1] for folder in folders]
        if len(folders) > _MOST_FOLDERS:
            return []
    named = [os.path.normpath(folder) for folder in folders]
    return [Path(folder) for folder in dict.fromkeys((*named, *map(os.path.realpath, named)))]


def _with_tree(governed: GovernedCall, area: Callable[[], Area]) -> GovernedCall:
    """The call with the tree of its project stored first, if it may change more there than a snapshot holds."""
    named = all(argv[0] in FILE_TOOLS or argv[0] in REDIRECTIONS for argv in governed.effects.commands)
    whole = governed.tool_id == KEPT and "partly" not in governed.args and named
    if whole or governed.tool_id not in _WITH_TREE:
        return governed
    return _stored_first(governed, area, _WITH_TREE[governed.tool_id])


def _stored_first(governed: GovernedCall, area: Callable[[], Area], tool_id: str) -> GovernedCall:
    """The call under a contract that stores the tree of its project first, where it has one."""
    if governed.refused or not (tree := area().tree):
        return governed
    args = {"paths": [], "stands_for": [governed.tool_id], **governed.args, "tree": tree}
    return governed._replace(tool_id=tool_id, args=args)


def _partly_or_lost(governed: GovernedCall, area: Callable[[], Area]) -> GovernedCall:
    """A line with a snapshot of what it names, beside what is not known; one that loses what none may hold is destructive."""
    named = governed.effects.changes.changes or ()
    planned = plan(named, area()) if named else Plan()
    if planned.refused is not None and _is_lost(planned.refused):
        return _destructive(governed, _loses(planned.refused.path, deletes=True), planned.why)
    if planned.no_room:
        return unkept(governed, planned.why, no_room=True)
    return _partly(governed, area)


def _named_kept(governed: GovernedCall, area: Callable[[], Area]) -> GovernedCall:
    """The call with a snapshot of the paths that its line names, where that is possible."""
    changes = governed.effects.changes
    if governed.refused or governed.safety_class is SafetyClass.READ_ONLY:
        return governed
    destroys = governed.safety_class is SafetyClass.DESTRUCTIVE
    if replaced := {path: deletes for path, deletes in governed.effects.replaced if _has_content(path)}:
        path, why = unguarded_file(list(replaced), area())
        if path and destroys:
            return unkept(governed, why)
        if path:
            return _destructive(governed, _loses(path, deletes=replaced.get(path, False)), why)
    if not destroys and (not changes.changes or changes.others != READ):
        return _partly_or_lost(governed, area)  # what is not followed would not be undone
    if not changes.changes or changes.others == DESTROY or governed.safety_class is SafetyClass.NETWORK:
        return governed
    planned = plan(changes.changes, area())
    why = planned.why
    if not why and len(planned.keep) > MOST_PATHS:
        why = f"it changes more than {MOST_PATHS} paths"
    lost = planned.refused
    if lost is not None and not destroys and _is_lost(lost):
        return _destructive(governed, _loses(lost.path, deletes=True), why)
    if why and not destroys and not planned.no_room:
        return _partly(governed, area)
    if why:
        return unkept(governed, why, no_room=planned.no_room)
    network = changes.others == NETWORK
    stands_for = [governed.tool_id, *([SHELL[SafetyClass.NETWORK]] if network else [])]
    args: dict[str, Any] = {**governed.args, "paths": list(planned.keep), "stands_for": stands_for}
    if planned.let_go:
        args["let_go"] = list(planned.let_go)
    return governed._replace(
        tool_id=KEPT_NETWORK if network else KEPT,
        args=args,
        safety_class=SafetyClass.NETWORK if network else SafetyClass.LOCAL_WRITE,
    )


def _partly(governed: GovernedCall, area: Callable[[], Area]) -> GovernedCall:
    """A call that goes on whatever it changes, after a snapshot of the files that its line names and writes."""
    tool_id = {SafetyClass.LOCAL_WRITE: KEPT, SafetyClass.NETWORK: KEPT_NETWORK}.get(governed.safety_class)
    writes, changes = governed.effects.writes, governed.effects.changes
    places = [*writes, *changes.named, *(change.path for change in changes.changes or ())]
    if tool_id is None or not places:
        return governed
    named = named_files(dict.fromkeys(places), area())
    if not named:
        return governed
    args = {**governed.args, "paths": list(named), "stands_for": [governed.tool_id], "partly": True}
    return governed._replace(tool_id=tool_id, args=args)


def _loses(path: str, *, deletes: bool) -> str:
    """The loss that a line causes in a file that may have no snapshot."""
    name = one_line(path, MOST_OF_AN_ERROR)
    return f"rm {name}: deletes a file for good" if deletes else f"overwrites {name}"


def _is_lost(change: Change) -> bool:
    """True if a change deletes a file with content, outside of programs' caches."""
    return change.removed and not os.path.islink(change.path) and _has_content(change.path)


def _caches() -> tuple[str, ...]:
    """The folders in which the programs of this user keep what they can make again."""
    home = os.path.realpath(os.path.expanduser("~"))
    own = os.environ.get("XDG_CACHE_HOME", "")
    folders = (
        f"{home}/.cache",
        f"{home}/Library/Caches",
        *([os.path.realpath(own)] if os.path.isabs(own) else []),
    )
    return tuple(f"{folder}/" for folder in folders)


def _has_content(path: str) -> bool:
    """True if a path is a file, or a link to one, with content, outside of programs' caches."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    cached = os.path.realpath(path).startswith(_caches())
    return stat.S_ISREG(status.st_mode) and status.st_size > 0 and not cached


def _destructive(governed: GovernedCall, does: str, why: str) -> GovernedCall:
    """The call under the contract of lines that destroy."""
    args = {**governed.args, "why": does}
    tool_id = SHELL[SafetyClass.DESTRUCTIVE]
    return unkept(governed._replace(tool_id=tool_id, args=args, safety_class=SafetyClass.DESTRUCTIVE), why)


def unkept(governed: GovernedCall, why: str, *, no_room: bool = False) -> GovernedCall:
    """The call without a snapshot, with the reason; the reason is not part of what a person approves.

    Args:
        no_room: the changes are known and there is no room for them, so that a person has to agree to lose undo.
    """
    if governed.safety_class is SafetyClass.LOCAL_WRITE and no_room:
        tool_id, args = (
            SHELL[SafetyClass.DESTRUCTIVE],
            {**governed.args, "why": "overwrites or deletes files"},
        )
        governed = governed._replace(tool_id=tool_id, args=args, safety_class=SafetyClass.DESTRUCTIVE)
    if governed.safety_class is not SafetyClass.DESTRUCTIVE:
        return governed
    return governed._replace(why=f"{governed.args['why']} (no snapshot: {why})")


@contextmanager
def with_extra(governed: GovernedCall, session: HookSession) -> Iterator[None]:
    """Let the snapshot of a call hold what undoing it needs besides its paths, and no settings that programs made."""
    extra, part = EXTRA.set(governed.effects.changes.extra), PART.set(governed.part)
    known = KNOWN.set(session.confining.known_settings if session.confines else KNOWN.get())
    try:
        yield
    finally:
        EXTRA.reset(extra)
        PART.reset(part)
        KNOWN.reset(known)


def report_of(call: NativeCall, pending: Intent, args: dict[str, Any], files: HostedFiles) -> Report:
    """The report of a line with a snapshot: the state of its paths, by which it can be undone.

    A line that failed may have changed files before it did, and those can be undone as well.
    """
    failed = call.error or ("interrupted" if call.interrupted else "")
    lost = _lost_rows(args, failed=bool(failed))
    paths = [path for path in args.get("paths", ()) if isinstance(path, str)]
    if pending.tool_id == KEPT_IN_PART:
        paths = files.stored_paths(pending.idempotency_key)
    key, tree = pending.idempotency_key, _ended_tree(args, pending, files)
    changed = (
        bool(paths and files.have_changed(paths, key)) or bool(tree and not tree.unchanged) or bool(lost)
    )
    if failed and not changed:
        return Report(None, call.error, call.interrupted, call.ms)
    partly = bool(args.get("partly") or args.get("tree"))
    rows = files.states_after(paths, key, only_changed=partly) if paths else []
    if tree is not None:
        known = {row["path"] for row in tree.rows}
        rows = [*tree.rows, *(row for row in rows if row["path"] not in known)]
    value: dict[str, Any] = {} if partly and not rows else {"files": rows}
    if tree is not None:
        value |= {name: item for name, item in tree.to_dict().items() if name != "not_undone" or not rows}
    if lost:
        value["not_restored"] = lost
    if lost and not rows:
        value["not_undone"] = f"what it changed is not stored: {lost[0]['path']} {lost[0]['why']}"
    if failed:
        value["failed"] = one_line(failed, MOST_OF_AN_ERROR)
    is_network = pending.tool_id == KEPT_NETWORK
    return Report(
        value, latency_ms=call.ms, unchanged=not (rows or is_network or tree is None or not tree.unchanged)
    )


def _lost_rows(args: dict[str, Any], *, failed: bool) -> list[dict[str, str]]:
    """The paths of a call that has ended which were not stored; of one that failed those that are gone."""
    rows = [row for row in args.get("lost", ()) if isinstance(row, dict)]
    named = [{"path": str(row.get("path")), "why": str(row.get("why"))} for row in rows]
    return [row for row in named if not failed or not os.path.lexists(row["path"])]


def _ended_tree(args: dict[str, Any], pending: Intent, files: HostedFiles) -> TreeChange | None:
    project = args.get("tree")
    if not isinstance(project, str) or files.trees is None:
        return None
    return files.trees.end(project, pending.idempotency_key, SESSION.get())


def area_of(context: JudgingContext, config: Config, folder: str, begun: float) -> Area:
    """The places where a session's lines may delete after a snapshot.

    Args:
        folder: the project at its first event. begun: seconds since the epoch of that.
    """
    from sb.hosts.hooks.snapshots.scratch import scratch

    home = str(context.home)
    project = project_of_area(folder, home)
    limits = Limits(config.undo.call_max_bytes, config.undo.call_max_files)
    protected = [str(path) for path in context.protected]
    tree = project if project and is_repository(project) and not trees_off(config) else ""
    built = scratch(project, math.inf)
    return Area(project, home, protected, context.guarded, scratch(project, begun), built, limits, tree)


def is_repository(project: str) -> bool:
    """True for the folder of a git repository, whose ignore rules tell what is worth storing."""
    return os.path.isfile(f"{project}/.git/HEAD") or os.path.isfile(f"{project}/.git")


def prepare_tree(project: str, config: Config, files: HostedFiles) -> None:
    """Have the tree of a session's project stored in the background if it never was."""
    real = project_of_area(project, os.path.expanduser("~"))
    if real and files.trees is not None and is_repository(real) and not trees_off(config):
        files.trees.prepare(real)
