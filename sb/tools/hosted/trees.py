"""The tree of a project around one call: stored before it, compared after it, the difference put into its snapshot."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sb.base.files import is_behind_link
from sb.base.text import counted
from sb.config.home import Home
from sb.errors import SBError
from sb.tools.hosted.guarding import current_runtime

if TYPE_CHECKING:
    from sb.store.packs import PackStore
    from sb.store.trees.difference import Difference
    from sb.store.trees.known_settings import KnownSettings
    from sb.store.trees.open_calls import OpenCall, StoredTree
    from sb.store.trees.store import TreeStore

# The call is over, and nobody waits for a verdict; but the hook that reports it has 20 seconds (hooks.deadline_seconds).
MOST_REPORT_S = 9.0  # for the second tree
_COMPARE_S = 4.0  # for the difference of both, and as long for that of the first one and what is on disk
MOST_UNSTORED = 20  # paths or folders named in one undo record
COMMAND = "tree"  # what stores one in the background, of the file that hooks start with
_WARM = "sb.hosts.hooks.snapshots.warm_tree"
# Gives the settings of the project that were there before programs of the agent that may still run.
KNOWN: ContextVar[Callable[[], KnownSettings | None]] = ContextVar("known", default=lambda: None)


class TreeChange(NamedTuple):
    """The difference that a call made to its tree.

    Args:
        rows: the state of each path that it changed, as undo records have it.
        unstored: changed paths that do not come back, with the reason.
        why: why there is no comparison, "" if there is one.
        overlapping: number of other calls that ran in the project meanwhile.
    """

    rows: Sequence[dict[str, Any]] = ()
    unstored: Mapping[str, str] = {}
    why: str = ""
    overlapping: int = 0

    @property
    def unchanged(self) -> bool:
        """True if everything that is stored is known to be as it was."""
        return not (self.rows or self.unstored or self.why)

    def to_dict(self) -> dict[str, Any]:
        """The fields of a report about it, besides the rows."""
        fields: dict[str, Any] = {"tree": False, "tree_why": self.why} if self.why else {"tree": True}
        if self.unstored:
            fields["not_restored"] = [
                {"path": _shown(path), "why": why} for path, why in named(self.unstored)
            ]
        if self.overlapping:
            fields["overlapping"] = self.overlapping
        if not self.rows:
            fields["not_undone"] = self.not_undone()
        return fields

    def not_undone(self) -> str:
        """The reason why a call without rows cannot be undone."""
        if self.why:
            return f"the project's tree was not stored: {self.why}"
        if self.unstored:
            path, why = min(self.unstored.items())
            more = f", and {counted(len(self.unstored) - 1, 'path')} more" if len(self.unstored) > 1 else ""
            return f"what it changed is not stored: {_shown(path)} {why}{more}"
        return "it changed no file of the project, and what it did elsewhere cannot be undone"


class HostedTrees:
    """Trees of the projects that hosts work in.

    Args:
        trees: opens their store. packs: opens the store of snapshots.
        seconds: in which a tree is stored before a call; 0 for never.
        bounds: of one difference. session_share: of the store of snapshots, for one session.
        home: SB_HOME, for the process that stores a tree in the background.
    """

    def __init__(
        self,
        trees: Callable[[], TreeStore],
        packs: Callable[[], PackStore],
        *,
        seconds: float,
        bounds: tuple[int, int],
        home: str,
        session_share: float = 0.25,
    ) -> None:
        self._open_trees = trees
        self._open_packs = packs
        self._seconds = seconds
        self._bounds = bounds
        self._home = home
        self._share = session_share

    @cached_property
    def _trees(self) -> TreeStore:
        return self._open_trees()

    @cached_property
    def _packs(self) -> PackStore:
        return self._open_packs()

    def begin(self, project: str, key: str, session: str, *, whole: bool = False) -> str:
        """Store the tree before a call, or note why there is none; returns that reason, or "".

        Args:
            whole: the call needs all of it, so that repositories that are too many to be stored are such a reason.
        """
        from sb.base.sources import SYSTEM_CLOCK
        from sb.store.trees.git_program import TooSlow
        from sb.store.trees.known_settings import known_in_both
        from sb.store.trees.open_calls import OpenCall
        from sb.store.trees.running import running_keys

        trees, tree, why = self._trees, None, ""
        others = tuple(other for other in trees.open_keys(project) if other != key)
        running = tuple(running_keys(trees.home_of(project), SYSTEM_CLOCK.now()))
        known = KNOWN.get()()
        try:
            why = trees.recently_slow(project)
            tree = None if why else trees.store(project, self._seconds, by_watch=True)
        except TooSlow:
            why = too_slow(self._seconds)
            trees.note_slow(project, why)
            self.warm(project)
        except SBError as error:
            why = error.message
            trees.note_slow(project, why)
        try:
            known = known_in_both(known, KNOWN.get()())
            trees.begin(OpenCall(key, session, tree, why, (*others, *running), known), project)
            if tree is not None:
                trees.note_next(project, others, tree)
        except SBError as error:
            trees.note_slow(project, error.message)
            return error.message
        if whole and tree is not None and tree.nested_left_out:
            return f"{_shown(tree.nested_left_out[0])} is one repository too many to be stored"
        return why

    def forget(self, project: str, key: str) -> None:
        """Forget a call that does not go on."""
        self._trees.end(project, key)

    def is_stored(self, project: str) -> bool:
        """True if a tree of the project was stored before."""
        return self._trees.is_stored(project)

    def prepare(self, project: str) -> None:
        """Store the tree of a new project in the background, before a call has to wait for it."""
        if not self.is_stored(project):
            self.warm(project)

    def warm(self, project: str) -> None:
        """Store a tree in the background, so that the next call finds most of it stored."""
        made = current_runtime(Home(Path(self._home)))
        # What hooks run from is not among the packages of this interpreter.
        caches = ["-X", f"pycache_prefix={sys.pycache_prefix}"] if sys.pycache_prefix else []
        here = (
            ["-I", "-S", *caches, str(made / "start.py"), COMMAND]
            if made is not None
            else ["-I", "-m", _WARM]
        )
        command = [sys.executable, *here, project]
        environment = {
            name: os.environ[name] for name in ("HOME", "PATH", "LANG", "LC_ALL") if name in os.environ
        }
        nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        try:
            os.posix_spawn(
                command[0], command, {**environment, "SB_HOME": self._home}, file_actions=nothing, setsid=True
            )
        except (OSError, NotImplementedError) as error:  # the latter where the C library starts no sessions
            self._trees.note_slow(project, f"it cannot be stored in the background: {error}")

    def end(self, project: str, key: str, session: str, *, reported: bool = True) -> TreeChange | None:
        """Compare the tree of a call with the one of now, and put what was into the call's snapshot.

        Args:
            reported: the call has just ended; else the next tree that was stored ends it.

        Returns:
            The change; None for a call that has no tree.
        """
        from sb.store.trees.running import note_running

        trees = self._trees
        try:
            call = trees.call(project, key)
        except SBError as error:
            return TreeChange(why=error.message)
        if call is None:
            return None
        try:
            if call.tree is None:
                return TreeChange(why=call.why)
            difference = self._difference(call.tree, key, reported=reported)
            if call.known is not None:
                difference = _without_made(difference, call.known)
            return self._change(call, call.tree, difference, session)
        except SBError as error:
            return TreeChange(why=error.message)
        finally:
            if trees.is_background(project, key):
                note_running(trees.home_of(project), key, call.session)
            trees.end(project, key)

    def end_found(self, key: str) -> TreeChange | None:
        """`end` for a call whose report was lost, wherever its project is."""
        project = self._trees.project_of(key)
        return self.end(project, key, "", reported=False) if project else None

    def defer(self, project: str, key: str) -> None:
        """Note that a call goes on in the background after its report."""
        self._trees.note_background(project, key)

    def in_background(self, project: str, key: str) -> bool:
        """True for a call that was deferred."""
        return self._trees.is_background(project, key)

    def forget_running(self, session: str, may_run: Callable[[], bool]) -> None:
        """Forget a session's calls in the background, unless one may still run."""
        from sb.store.trees.running import running_in

        notes = running_in(self._trees.folder, session)
        if notes and not may_run():
            for note in notes:
                note.unlink(missing_ok=True)

    def expire(self) -> None:
        """Remove trees that are past their time, at most once a day."""
        self._trees.expire_daily()

    def _difference(self, before: StoredTree, key: str, *, reported: bool) -> Difference:
        """The difference that a call made; where the tree after it cannot be stored, that of now and before.

        Raises:
            SBError: the tree of before cannot be read, or it took too long.
        """
        from sb.base.sources import SYSTEM_CLOCK
        from sb.shell.snapshots.git_index import tracked_digest
        from sb.store.trees.bounds import Bounds
        from sb.store.trees.difference import Comparing
        from sb.store.trees.git_program import Deadline
        from sb.store.trees.left_out import changed_repositories
        from sb.store.trees.on_disk import compare_with_disk

        trees, project, bounds = self._trees, before.project, Bounds(*self._bounds)
        git = trees.git_of(project)
        try:
            after = None if reported else trees.next_tree(project, key)
            after = after or trees.store(project, MOST_REPORT_S, after_call=True)
            deadline = Deadline.after(SYSTEM_CLOCK, _COMPARE_S)
            found = Comparing(git, before, after, bounds, deadline, tracked_digest).compare()
            over = set(after.nested_left_out) - set(before.nested_left_out)
            left = dict.fromkeys(over, "is one repository too many to be stored")
        except SBError as error:
            deadline, left = Deadline.after(SYSTEM_CLOCK, _COMPARE_S), {}
            found = compare_with_disk(git, before, bounds, deadline, tracked_digest, error.message)
        left |= changed_repositories(before.nested_left_out, before.at)
        return found._replace(unstored={**found.unstored, **left})

    def _change(self, call: OpenCall, before: StoredTree, difference: Difference, session: str) -> TreeChange:
        rows, differing = self._rows(difference, before)
        if rows:
            share = self._share if session else 1.0
            self._packs.extend(
                call.key, differing, session=session, session_share=share, extra=difference.extra
            )
        overlapping = {*call.overlapping, *self._trees.begun_since(before.project, call.key, before.at)}
        return TreeChange(rows, difference.unstored, "", len(overlapping) if rows else 0)

    def _rows(
        self, difference: Difference, before: StoredTree
    ) -> tuple[list[dict[str, Any]], list[tuple[Any, bytes]]]:
        """The states of now, and the former ones, of the paths that differ from the tree before."""
        from sb.store.file_age import marked
        from sb.store.path_states import is_same, row, states
        from sb.tools.pack_changes import tracked_by

        # What is reached by a link is not what was there, whatever it is.
        found = [
            entry.path for entry, _ in difference.before if not is_behind_link(os.path.dirname(entry.path))
        ]
        now = states(found, deep=False)
        differing = [
            (entry, item) for entry, item in difference.before if not is_same(entry, now.get(entry.path))
        ]
        rows = [row(entry.path, now.get(entry.path)) for entry, _ in differing]
        older = self._older(difference, before, [entry.path for entry, _ in differing])
        return marked((item | tracked_by(item) for item in rows), older), differing

    def _older(self, difference: Difference, before: StoredTree, paths: Sequence[str]) -> set[str]:
        """The files among paths that were not there before, are older than the call, and of no content of the tree."""
        from sb.base.sources import SYSTEM_CLOCK
        from sb.store.file_age import older_files
        from sb.store.pack_file import ABSENT
        from sb.store.trees.git_program import Deadline, entries_of
        from sb.store.trees.on_disk import blob_of

        absent = {entry.path for entry, _ in difference.before if entry.kind == ABSENT}
        older = older_files(absent.intersection(paths), before.at, by_content=True)
        if not older or difference.unstored:  # of what is not stored nobody knows whether it was the same
            return older
        git, deadline = self._trees.git_of(before.project), Deadline.after(SYSTEM_CLOCK, _COMPARE_S)
        stored = {blob for part in before.parts for _, blob, _ in entries_of(git, part.tree, deadline)}
        return {path for path in older if blob_of(path) not in stored}


def _without_made(difference: Difference, known: KnownSettings) -> Difference:
    """The difference without settings that are not known; each of these is named."""
    made = {entry.path for entry, content in difference.before if known.is_made(entry, content)}
    before = tuple(item for item in difference.before if item[0].path not in made)
    left = dict.fromkeys(made, "is a setting that a program of the agent may have made")
    return difference._replace(before=before, unstored={**difference.unstored, **left})


def named(unstored: Mapping[str, str]) -> list[tuple[str, str]]:
    """Paths with the reasons why they do not come back; of many, their number in each folder."""
    if len(unstored) <= MOST_UNSTORED:
        return sorted(unstored.items())
    folders = dict[tuple[str, str], list[str]]()
    for path, why in sorted(unstored.items()):
        folders.setdefault((os.path.dirname(path), why), []).append(path)
    rows = [
        (folder, f"{counted(len(paths), 'path')} in it: each {why}") if len(paths) > 1 else (paths[0], why)
        for (folder, why), paths in folders.items()
    ]
    if len(rows) <= MOST_UNSTORED:
        return rows
    left = [path for paths in [*folders.values()][MOST_UNSTORED - 1 :] for path in paths]
    return [
        *rows[: MOST_UNSTORED - 1],
        (os.path.commonpath(left), f"{counted(len(left), 'path')} more below it"),
    ]


def too_slow(seconds: float) -> str:
    """The reason given for a tree that takes longer than it may."""
    return f"it takes longer than {round(seconds * 1000)} ms (undo.tree_ms)"


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", "replace")
