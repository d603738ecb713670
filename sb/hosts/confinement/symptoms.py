"""Symptoms of confinement in a command's output: the paths that it could not write or read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence

from sb.base.values.frozen import frozen
from sb.hosts.confinement.profile import Profile

_MOST_PATHS = 5
_LONGEST_OUTPUT = 200_000  # characters, from the end: a failure is said last
# Node makes folders from the last one up, and says of that one that it is not there.
_CANNOT_WRITE = re.compile(
    r"(?i)read-only file system|\bEROFS\b|device or resource busy|\bEBUSY\b|\(os error 30\)|\[errno 30\]|\bENOENT\b.*\bmkdir\b"
)
_CANNOT_OPEN = re.compile(
    r"(?i)permission denied|\bEACCES\b|operation not permitted|\bEPERM\b|\(os error (?:13|1)\)|\[errno (?:13|1)\]|cannot connect"
)
_NEEDS_OUTSIDE = re.compile(
    r"(?i)no new privileges|newuidmap|effective uid is not 0, is|must be setuid root|unable to change to sudoers gid|cannot set groups"
)
_NOT_LOGGED_IN = re.compile(
    r"(?i)\bE?40[13]\b|\bENEEDAUTH\b|unauthori[sz]ed|forbidden|authenticat|\(publickey|could not read (?:username|password)"
    r"|access denied|not logged in|login required|(?:no|locate|find|missing) (?:\w+ )?credentials|no secret key|secret key not available"
)
_SHELL = re.compile(r"^\s*/\S*sh: ")  # a message of a shell begins with its own path
# A path of a message, relative to the folder of the command and in no quotes.
_RELATIVE = re.compile(
    r"(?:^|\s)([^\s:'\"`/]{1,400}/[^\s:'\"`]{0,4000}): (?i:read-only file system|device or resource busy)$"
)
_PATH = re.compile(
    r"(?:unix:(?://)?|[\s'\"`(=:\u2018\u201c]|^)((?:~|/)[^\s'\"`:;,)\u2019\u201d]*[^\s'\"`:;,.)\u2019\u201d])"
)


@frozen
class Symptoms:
    """Refusals that a confined call met.

    Args:
        writes, reads: real paths, at most five each. outside: it needs rights that no confined command has.
        unnamed: something could not be written, and the output does not say which path.
    """

    writes: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    outside: bool = False
    unnamed: bool = False

    def __bool__(self) -> bool:
        return bool(self.writes or self.reads or self.outside or self.unnamed)


def without_login(error: str, withheld: Sequence[str]) -> list[str]:
    """The credentials that a failed call may have missed, if its message says that it could not log in.

    Args:
        error: its message. withheld: paths that its programs use, and that it could not read.
    """
    return list(withheld)[:_MOST_PATHS] if withheld and _NOT_LOGGED_IN.search(error) else []


def symptoms_in(output: str, profile: Profile, *, home: str, cwd: str, denies: bool = False) -> Symptoms:
    """The refusals of a profile that a command's output tells of.

    Args:
        output: stdout and stderr. home: of the user. cwd: where it ran; a relative path in a message is below it.
        denies: the engine stops writes as if the user had no right to.
    """
    writes, reads = dict[str, None](), dict[str, None]()
    outside = unnamed = False
    for line in output[-_LONGEST_OUTPUT:].splitlines():
        outside = outside or _NEEDS_OUTSIDE.search(line) is not None
        if _CANNOT_WRITE.search(line):
            paths = [path for path in _paths(line, home, cwd) if not profile.may_write(path)]
            writes |= dict.fromkeys(paths[:1])
            unnamed = unnamed or (not paths and "ENOENT" not in line)
        if _CANNOT_OPEN.search(line):
            paths = list(_paths(line, home, cwd))
            closed = [path for path in paths if _is_closed(path, profile)]
            reads |= dict.fromkeys(closed)
            if denies and not closed:
                blocked = [path for path in paths if not profile.may_write(path) and _could_write(path)]
                writes |= dict.fromkeys(blocked[:1])
    return Symptoms(tuple(writes)[:_MOST_PATHS], tuple(reads)[:_MOST_PATHS], outside, unnamed and not writes)


def _could_write(path: str) -> bool:
    """True for a path that this user may write or create where no engine keeps them from it."""
    while not os.path.lexists(path):
        path = os.path.dirname(path)
    return os.access(path, os.W_OK)


def _is_closed(path: str, profile: Profile) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in profile.unreadable)


def _paths(line: str, home: str, cwd: str) -> Iterator[str]:
    """The paths that a message names, and what quoted words may be relative to the folder."""
    for found in _PATH.finditer(_SHELL.sub("", line)):
        path = found[1]
        yield _real(home + path[1:] if path.startswith("~") else path)
    for word in re.findall(r"['\"`\u2018]([^'\"`\u2019]{1,400})['\"`\u2019]", line) + _RELATIVE.findall(line):
        if not word.startswith(("/", "~")) and "/" in word:
            yield _real(os.path.join(cwd, word))


def _real(path: str) -> str:
    return os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
