"""Engines that hold commands to a profile: bubblewrap, Landlock where that does not hold, `sandbox-exec` on macOS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sb.base.values.frozen import frozen
from sb.hosts.confinement import bubblewrap, landlock, processes, seatbelt
from sb.hosts.confinement.profile import Profile


def _nothing(_folder: Path, _program: str) -> None:
    """Engines that see their processes by other means note nothing."""


def _nothing_of(_folder: Path) -> None:
    """Engines without a namespace of processes end none."""


def _no_words(_folder: Path, _program: str) -> list[str]:
    return []


@frozen
class EngineKind:
    """One kind of engine.

    Args:
        find: its program, or "". probe: why that does not hold here, or ""; takes a folder for its files.
        options: a profile as the program reads it, from a file; takes a folder for what nobody may open.
        command: what is put in front of a command: of the program, the file with the options, and that file's number
            where it is open. enter: what is put in front of that; takes SB_HOME/confine and the program.
        is_alive: True while a confined process runs; takes SB_HOME/confine. end_all: ends those that it can, the same.
        begin: called before one may start; takes SB_HOME/confine and the program.
        marks: what `sb-confine` needs to know besides the program, a line each.
        gaps: what it does not hold, a sentence each.
        denies: a write that it stops fails like one without the right to, not as on a read-only disk.
        compares: it cannot hold settings and hooks in a project, so that these are compared and put back.
    """

    name: str
    find: Callable[[], str]
    probe: Callable[[str, Path], str]
    options: Callable[[Profile, Path], bytes]
    command: Callable[[str, str, int], list[str]]
    is_alive: Callable[[Path], bool]
    begin: Callable[[Path, str], None]
    marks: Callable[[], tuple[str, ...]]
    gaps: tuple[str, ...]
    enter: Callable[[Path, str], list[str]] = _no_words
    end_all: Callable[[Path], None] = _nothing_of
    denies: bool = False
    compares: bool = False


BUBBLEWRAP = EngineKind(
    bubblewrap.NAME,
    bubblewrap.find,
    bubblewrap.probe,
    bubblewrap.options,
    bubblewrap.command,
    bubblewrap.is_alive,
    processes.begin,
    tuple,
    bubblewrap.GAPS,
    processes.enter,
    processes.end_all,
)
LANDLOCK = EngineKind(
    landlock.NAME,
    landlock.find,
    landlock.probe,
    landlock.options,
    landlock.command,
    landlock.is_alive,
    landlock.note_start,
    landlock.marks,
    landlock.GAPS,
    denies=True,
    compares=True,
)
SEATBELT = EngineKind(
    seatbelt.NAME,
    seatbelt.find,
    seatbelt.probe,
    seatbelt.options,
    seatbelt.command,
    seatbelt.is_alive,
    _nothing,
    tuple,
    seatbelt.GAPS,
    denies=True,
)
ENGINES = (BUBBLEWRAP, LANDLOCK, SEATBELT)  # the first that holds is used
BY_NAME = {kind.name: kind for kind in ENGINES}


@frozen
class Engine:
    """The engine of a home.

    Args:
        program: its absolute path; "" without one. fault: why it does not hold here, or "".
        name: of its kind. unknown: it may be closed by a command, so that nothing runs without it.
    """

    program: str
    fault: str = ""
    name: str = BUBBLEWRAP.name
    unknown: bool = False

    @property
    def kind(self) -> EngineKind:
        return BY_NAME[self.name]

    @property
    def holds(self) -> bool:
        return bool(self.program) and not self.fault
