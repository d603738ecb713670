"""Engines that hold commands to a profile: bubblewrap, Landlock where that does not hold, `sandbox-exec` on macOS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from sb.confinement import bubblewrap, landlock, seatbelt
from sb.confinement.profile import Profile
from sb.frozen import frozen


@frozen
class EngineKind:
    """One kind of engine.

    Args:
        find: its program, or "". probe: why that does not hold here, or ""; takes a folder for its files.
        options: a profile as the program reads it, from a file; takes a folder for what nobody may open.
        command: what is put in front of a command: of the program, the file with the options, and that file's number
            where it is open.
        is_alive: True while a confined process runs; takes SB_HOME/confine. begin: called before one may start.
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
    begin: Callable[[Path], None]
    marks: Callable[[], tuple[str, ...]]
    gaps: tuple[str, ...]
    denies: bool = False
    compares: bool = False


def _nothing(_folder: Path) -> None:
    """Engines that see their processes by other means note nothing."""


BUBBLEWRAP = EngineKind(
    bubblewrap.NAME,
    bubblewrap.find,
    bubblewrap.probe,
    bubblewrap.options,
    bubblewrap.command,
    bubblewrap.is_alive,
    _nothing,
    tuple,
    bubblewrap.GAPS,
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
