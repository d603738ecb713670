"""Files that decide about more than themselves: hosts' settings, logins, what git runs, the system."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import groupby
from typing import TypeAlias

from sb.shell import tables
from sb.shell.parsing.words import compiled, fits, is_literal
from sb.shell.places.git_files import FOLDER, changes_git
from sb.shell.snapshots.local_effects import FILE_TOOLS

OPENCODE = "opencode.json*"
WORKSPACE = "*.code-workspace"
PROJECTS_OWN = (OPENCODE, WORKSPACE)  # files beside a project's own, which patterns are not meant for
HOST_SETTINGS = tuple(tuple(setting.split("/")) for setting in tables.HOST_SETTINGS)
# How the text of a program names one of these.
SETTINGS_IN_CODE = (
    r"\.claude/settings[\w.]*json|\.claude\.json|\.codex/|\.gemini/\w+\.json|\.cursor/(?:hooks|mcp|cli[\w-]*)\.json|\.mcp\.json"
    r"|\.vscode/(?:settings|tasks|mcp)\.json|code/user/\w+\.json|\.github/hooks/|\.copilot/|\.opencode/|opencode\.jsonc?"
    r"|\.windsurf/(?:\w+\.json|transcripts)|codeium/windsurf/"
    r"|\.claude/projects/[^'\"\n]{0,200}\.jsonl|\.gemini/tmp/[^'\"\n]{0,200}chats|agent-transcripts/"
)
# Looked up by their first component: many begin alike, and every path is compared with each.
_BY_HEAD = {head: list(settings) for head, settings in groupby(sorted(HOST_SETTINGS), lambda item: item[0])}
HIDDEN_HEADS = tuple(head for head in _BY_HEAD if head[0] == ".")
_WILD_HEADS = tuple(head for head in _BY_HEAD if "*" in head)
# Names that may begin a host's settings, a repository or an environment file; of other names none does.
_HEADS = sorted({head.rstrip("*") for head in _BY_HEAD if head[0] not in ".*"})
LOOKS_SPECIAL = rf"(?i)/(?:\.|{'|'.join(map(re.escape, _HEADS))})|{re.escape(WORKSPACE.lstrip('*'))}$"
Moved: TypeAlias = list[tuple[tuple[str, ...], str]]
# Of these folders other files are a project's own.
HOLD_SETTINGS = (".claude", ".gemini", ".cursor", ".windsurf")
# Those and the folders in them that hold more of it; what lies beside transcripts is the agents' own.
HOLDING = frozenset(
    setting[:count]
    for setting in HOST_SETTINGS
    for count in (1, 2, 3)
    if count < len(setting) and setting[0] in HOLD_SETTINGS
)
_HARMLESS_DEVICES = tuple(
    "/dev/null /dev/stdout /dev/stderr /dev/tty /dev/fd/ /dev/shm/ /dev/full /dev/zero".split()
)
_OF_THE_SYSTEM = tuple(
    ("/etc/ /usr/ /bin/ /sbin/ /lib/ /lib64/ /boot/ /dev/ /sys/ /proc/ /System/ /Library/").split()
)
_OF_A_HOME = tuple(dict.fromkeys((*tables.OF_A_LOGIN, *tables.HOST_SETTINGS)))
_LOGIN_PATHS = frozenset(name.casefold() for name in tables.OF_A_LOGIN)
_OWN_PROGRAMS = (".local/bin", "bin")  # of a home: they come first in PATH
_OF_EVERY_SYSTEM = FILE_TOOLS | frozenset(tables.OF_EVERY_SYSTEM.split())
GIVES = "gives a host agents or programs"
_OF_A_HOST = f"/(?:{'|'.join(map(re.escape, tables.HOST_PROGRAMS))})/"
_RUN_AT_START = r"/(?:site|dist)-packages/(?:[^/]+\.pth|(?:site|user)customize\.py)/"
_GIT_HOOKS = frozenset(tables.GIT_HOOKS.split())


@lru_cache(maxsize=1 << 12)
def folded(path: str) -> tuple[str, ...]:
    """The components of an absolute path, as a file system that ignores case compares them."""
    if not path.isascii():
        path = unicodedata.normalize("NFC", path)
    return tuple(part for part in path.casefold().split("/") if part)


def matches_below(pattern: Sequence[str], own: Sequence[str]) -> bool:
    """True if a pattern of paths, in its folded components, names a path of `own` or below it.

    As tools that find files do it: `**` stands for any folders, and nothing but a dot stands for a dot that a name begins with.
    """
    reached = {0}  # how much of `own` the pattern has come to
    for part in pattern:
        if part == "**":
            for at in sorted(reached):
                end = next((n for n in range(at, len(own)) if own[n].startswith(".")), len(own))
                reached |= set(range(at, end + 1))
        else:
            fitting = (at for at in reached if at < len(own) and fnmatchcase(own[at], part))
            reached = {at + 1 for at in fitting if part.startswith(".") or not own[at].startswith(".")}
        if len(own) in reached:
            return True
    return False


def host_setting(
    parts: Sequence[str], fits: Callable[[str, str], bool] = fits, moved: Moved | None = None
) -> str:
    """The setting of a host that a path, in its folded components, names or lies in; "" for none.

    Args:
        fits: whether a component of the path is one of a setting's; of a literal one it says what `words.fits` does.
        moved: the result of `moved_folders`, for callers that ask of many paths.
    """
    parts = _as_usual(parts, moved_folders() if moved is None else moved)
    for at, part in enumerate(parts):
        for head in _heads(part):
            for setting in _BY_HEAD[head] if fits(part, head) else ():
                rest = parts[at + 1 : at + len(setting)]
                if len(rest) == len(setting) - 1 and all(map(fits, rest, setting[1:])):
                    return "/".join(setting)
    return ""


@lru_cache(maxsize=1 << 10)
def _heads(part: str) -> tuple[str, ...]:
    """The first components of settings that a component of a path may be: of most literal ones, none."""
    if not is_literal(part):
        return tuple(_BY_HEAD)
    return tuple(head for head in (part, *_WILD_HEADS) if head in _BY_HEAD and fits(part, head))


def moved_folders() -> Moved:
    """The folders to which variables move hosts' settings, in folded components, each with its usual name."""
    named = ((os.environ.get(variable, ""), usual) for variable, usual in tables.MOVED_BY.items())
    return [
        (folder, usual)
        for name, usual in named
        if os.path.isabs(name)
        for folder in dict.fromkeys((folded(name), folded(os.path.realpath(name))))
        if folder
    ]


def _as_usual(parts: Sequence[str], moved: Moved) -> Sequence[str]:
    """A path as it would be if no variable moved a host's settings."""
    for folder, usual in moved:
        if tuple(parts[: len(folder)]) == folder:
            return (usual, *parts[len(folder) :])
    return parts


def held_by(place: str, home: str) -> str:
    """The login files or host's settings of a home that lie in a folder, or ""."""
    parts, own = folded(place), folded(home)
    if parts == own[: len(parts)]:
        return f"{home}/{tables.OF_A_LOGIN[0]}"
    if own != parts[: len(own)]:
        return ""
    rest = parts[len(own) :]
    return next(
        (f"{home}/{name}" for name in _OF_A_HOME if folded(name)[: len(rest)] == rest != folded(name)), ""
    )


def decisive_paths(home: str) -> Iterator[str]:
    """Login files and hosts' settings of a home, there or not; patterns are left out."""
    for name in _OF_A_HOME:
        if "*" not in name:
            yield f"{home}/{name}"


def sensitive_end(parts: Sequence[str]) -> str:
    """The reason why a write to a path known only by its end needs approval, or "".

    Args:
        parts: the folded components behind what is not known.
    """
    if len(parts) in (1, 2) and parts[-1] in _GIT_HOOKS and parts[0] in ("hooks", parts[-1]):
        return "changes what git runs, if that is its folder"
    if why := changes_git(parts):
        return why
    if parts and any(tuple(parts[: len(own)]) == own for own in map(folded, tables.OF_A_LOGIN)):
        return "changes files of a login or of another program, if that is its folder"
    return ""


def setting_below(parts: Sequence[str]) -> str:
    """The host's settings that a folder, given as folded components, has a place for, or ""."""
    parts = _as_usual(parts, moved_folders())
    for setting in HOST_SETTINGS:
        for count in range(1, len(setting)):
            if tuple(parts[-count:]) == setting[:count]:
                return "/".join(setting)
    return ""


def _of_a_home(parts: Sequence[str]) -> str:
    """The reason why a write to a path of a home, given with its folded components in there, needs approval, or ""."""
    if any("/".join(parts[:count]) in _LOGIN_PATHS for count in (1, 2, 3)):
        return "changes files of a login or of another program"
    if "/".join(parts[:-2]) in _OWN_PROGRAMS and parts[-2] in _OF_EVERY_SYSTEM:
        return f"comes before the {parts[-2]} of the system"
    return ""


def sensitive(place: str, home: str) -> str:
    """The reason why a write to an absolute path needs approval, or ""."""
    if place.startswith(_HARMLESS_DEVICES):
        return ""
    if (place + "/").startswith(_OF_THE_SYSTEM):
        return "changes a device" if place.startswith("/dev/") else "changes the system"
    whole, own = f"{place}/".casefold(), home.casefold()  # some file systems do not tell the case of names
    if whole.startswith(f"{own}/") and (why := _of_a_home(whole[len(own) + 1 :].split("/"))):
        return why
    if compiled(_OF_A_HOST).search(whole):
        return GIVES
    if compiled(_RUN_AT_START).search(whole):
        return "is run by every Python that finds it"
    return changes_git(folded(place)) if f"/{FOLDER}/" in whole else ""
