"""Watched paths of a project: what no mount can hold, compared after a call and put back.

A path that is not there cannot be mounted, a link names another place, and `.git/config` has to stay writable for git.
What a confined command made of these is moved to SB_HOME/confine/removed, and new keys that run programs are taken out
of `.git/config`, before the next call.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any

from sb.confinement.contents import Contents, contents, put_back
from sb.confinement.profile import settings_at
from sb.confinement.repositories import git_folder_of, git_program
from sb.frozen import frozen
from sb.text import plain

_GIT_S = 5.0
_MOST_SHOWN = 200  # characters of a key's value
# Keys of git whose value is a program, names one, or brings in more keys; without case, as `git config --list` has them.
_RUNS_PROGRAMS = re.compile(
    r"core\.(?:hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|worktree|alternaterefscommand)"
    r"|sequence\.editor|gpg\.program|gpg\..+\.(?:program|defaultkeycommand)|diff\.external|diff\..+\.(?:command|textconv)"
    r"|difftool\..+\.(?:cmd|path)|merge\..+\.driver|mergetool\..+\.(?:cmd|path)|filter\..+\.(?:clean|smudge|process)"
    r"|credential\.(?:.+\.)?helper|alias\..+|include\.path|includeif\..+\.path|remote\..+\.(?:uploadpack|receivepack|vcs|proxy)"
    r"|url\..+\.(?:insteadof|pushinsteadof)|protocol\.(?:.+\.)?allow|submodule\..+\.update|uploadpack\.packobjectshook"
    r"|trailer\..+\.(?:command|cmd)|browser\..+\.(?:cmd|path)|man\..+\.(?:cmd|path)|web\.browser|pager\..+|interactive\.difffilter"
    r"|init\.templatedir|sendemail\..*(?:smtpserver|tocmd|cccmd|headercmd)|imap\.tunnel|extensions\..+|http\.(?:.+\.)?proxy"
    r"|instaweb\.httpd|guitool\..+\.cmd|svn\..*|lfs\..*(?:customtransfer|extension).*|maintenance\..*|fetch\.bundleuri|notes\.rewriteref"
)
# Values of such keys that run nothing, as git writes them by itself.
_HARMLESS = re.compile(
    r"extensions\.(?:worktreeconfig|objectformat|partialclone|refstorage|compatobjectformat|preciousobjects)|submodule\..+\.update"
)


@frozen
class Watch:
    """The watched paths of a project as they were before a call.

    Args:
        settings: hosts' settings to what their link says; "" for what is no link.
        hooks: names in the folder of git's hooks; None where there is none.
        keys: a file of git's configuration to its keys that run programs, each as name and value.
        contents: of settings and hooks, where the engine cannot hold them.
        absent: login files and settings that are not there, in folders where a call may make something else.
        held: the folders that every confined process since then finds held in their place.
    """

    settings: dict[str, str]
    hooks: list[str] | None
    keys: dict[str, list[list[str]]]
    absent: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    contents: Contents | None = None

    @classmethod
    def from_json(cls, body: dict[str, Any]) -> Watch | None:
        """A watch as it was saved; None for anything else."""
        saved = body.pop("contents", None)
        if body.keys() != {"settings", "hooks", "keys", "absent", "held"}:
            return None
        return cls(**body, contents=Contents(**saved) if saved else None)


def watch(
    project: str, absent: Iterable[str] = (), held: Iterable[str] = (), copies: Path | None = None
) -> Watch:
    """The watched paths as they are now.

    Args:
        project: its root, real path. absent: more paths, of which those count that are not there.
        held: of the profile of the first confined call. copies: a folder for the contents of settings and hooks,
            where these count.

    Raises:
        OSError: a copy cannot be written.
    """
    settings = {path: _link(path) for path in settings_at(project)}
    hooks = _hooks(project)
    names = sorted(os.listdir(hooks)) if hooks and os.path.isdir(hooks) else None
    missing = [path for path in absent if not os.path.lexists(path)]
    keys = {file: _keys(file) for file in _config_files(project)}
    texts = contents(project, copies) if copies is not None else None
    return Watch(settings, names, keys, missing, list(held), texts)


def restore(project: str, before: Watch, removed: Path, allowed: Collection[str] = ()) -> list[str]:
    """Put back what changed since; returns what was done, a clause each.

    Args:
        removed: the folder that takes what was made; it is made where it is missing.
        allowed: paths that a call since then was let change.

    Raises:
        OSError: something could not be put back.
    """
    now = watch(project)
    settings = {
        path: link
        for path, link in now.settings.items()
        if path in before.settings or not _allowed(path, allowed)
    }
    keys = {file: pairs for file, pairs in now.keys.items() if not _allowed(file, allowed)}
    now = Watch(settings, now.hooks, keys)
    return [
        *_removed_absent(before, removed, allowed),
        *_restored_settings(now, before, removed),
        *_restored_hooks(project, now, before, removed),
        *_restored_keys(now, before),
        *_restored_contents(project, before, removed, allowed),
    ]


def _allowed(path: str, allowed: Collection[str]) -> bool:
    return any(one == path or one.startswith(f"{path}/") or path.startswith(f"{one}/") for one in allowed)


def _restored_settings(now: Watch, before: Watch, removed: Path) -> Iterator[str]:
    for path, link in now.settings.items():
        if path not in before.settings:
            yield f"moved {plain(path, one_line=True)} away, which only an approved call may create{moved_away(path, removed)}"
        elif link != before.settings[path]:
            note = moved_away(path, removed)
            if before.settings[path]:
                os.symlink(before.settings[path], path)
            yield f"put {plain(path, one_line=True)} back to the link that it was{note}"
    for path, link in before.settings.items():
        if link and path not in now.settings:
            os.symlink(link, path)
            yield f"put the link {plain(path, one_line=True)} back"


def _removed_absent(before: Watch, removed: Path, allowed: Collection[str]) -> Iterator[str]:
    for path in before.absent:
        if os.path.lexists(path) and not _allowed(path, allowed):
            yield f"moved {plain(path, one_line=True)} away, which only an approved call may create{moved_away(path, removed)}"


def _restored_hooks(project: str, now: Watch, before: Watch, removed: Path) -> Iterator[str]:
    hooks = _hooks(project)
    if before.hooks is not None or now.hooks is None or not hooks:
        return  # the engine holds what is in it, or its contents are compared; or it was never there
    for name in now.hooks:
        if not name.endswith(".sample"):
            path = os.path.join(hooks, name)
            yield f"moved the git hook {plain(path, one_line=True)} away{moved_away(path, removed)}"


def _restored_contents(project: str, before: Watch, removed: Path, allowed: Collection[str]) -> Iterator[str]:
    if before.contents is not None:
        yield from put_back(
            project,
            before.contents,
            lambda path: moved_away(path, removed),
            lambda path: _allowed(path, allowed),
        )


def _restored_keys(now: Watch, before: Watch) -> Iterator[str]:
    program = git_program()
    for file, keys in now.keys.items():
        former = before.keys.get(file, [])
        added = [pair for pair in keys if pair not in former]
        names = dict.fromkeys(name for name, _ in added)
        for name in names:
            values = [value for key, value in former if key == name]
            _git(program, file, "--unset-all", name)
            for value in values:
                _git(program, file, "--add", name, value)
            value = next(value for key, value in added if key == name)[:_MOST_SHOWN]
            yield f"took {plain(name, one_line=True)} = {plain(value, one_line=True)} out of {plain(file, one_line=True)}, since it runs a program"


def moved_away(path: str, removed: Path) -> str:
    """Move a path into a folder, which is made where it is missing; returns where it is now, in brackets.

    Raises:
        OSError: it cannot be moved.
    """
    removed.mkdir(mode=0o700, parents=True, exist_ok=True)
    number = sum(1 for _ in removed.iterdir())
    target = removed / f"{number:04}-{os.path.basename(path)}"
    shutil.move(path, target)
    return f" (now in {plain(str(target), one_line=True)})"


def _link(path: str) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _hooks(project: str) -> str:
    folder = git_folder_of(project)
    return os.path.join(folder, "hooks") if folder else ""


def _config_files(project: str) -> list[str]:
    folder = git_folder_of(project)
    names = ("config", "config.worktree") if folder else ()
    return [path for name in names if os.path.isfile(path := os.path.join(folder, name))]


def _keys(file: str) -> list[list[str]]:
    """The keys of a file of git's configuration that run programs, with their values; a file that git cannot read has none."""
    program = git_program()
    if not program:
        return []
    with suppress(OSError, subprocess.SubprocessError):
        listed = _git(program, file, "--list", "-z", "--no-includes")
        pairs = (entry.partition("\n") for entry in listed.split("\0") if entry)
        return [[name, value] for name, _, value in pairs if _runs_program(name, value)]
    return []


def _runs_program(name: str, value: str) -> bool:
    lowered = name.lower()
    if lowered.startswith("alias."):
        return value.lstrip().startswith("!")
    if _HARMLESS.fullmatch(lowered) and not value.lstrip().startswith("!"):
        return False
    return _RUNS_PROGRAMS.fullmatch(lowered) is not None


def _git(program: str, file: str, *options: str) -> str:
    """Run `git config` on one file, which starts nothing that the file names.

    Raises:
        OSError, subprocess.SubprocessError: it cannot be run, or takes too long.
    """
    command = [program, "config", "--file", file, *options]
    env = {"PATH": "/usr/bin:/bin", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": "/"}
    done = subprocess.run(
        command, cwd="/", env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=_GIT_S, check=False
    )
    return done.stdout.decode(errors="surrogateescape")
