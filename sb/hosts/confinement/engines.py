"""Engines that hold commands to a profile: bubblewrap, Landlock where that does not hold, `sandbox-exec` on macOS.

Each is tried in turn, and what came of it counts while its programs are the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from sb.base.values.frozen import frozen
from sb.hosts.confinement import bubblewrap, landlock, processes, seatbelt
from sb.hosts.confinement.profile import Profile

_MISSING = "no engine is installed (bubblewrap, Landlock with landlockpy, or sandbox-exec)"
# A probe may be killed or run out of time on a busy system, so a fault is tried again; the rarer, the longer it took.
_AGAIN_S, _AGAIN_TIMES = 60.0, 30.0


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


LOST = "it held since the system was started, and does so no more ({}); sb install tries it anew"

Candidates = Sequence[tuple[EngineKind, str]]  # kinds and their programs


def recorded(record: Mapping[str, Any]) -> Engine | None:
    """The engine that was chosen last; None before a first one.

    Args:
        record: as `choose` made it; {} for none.
    """
    if record.get("name") not in BY_NAME:
        return None
    return Engine(str(record.get("program", "")), str(record.get("fault", "")), record["name"])


def still_counts(record: Mapping[str, Any], candidates: Candidates, now: float) -> bool:
    """True while what was chosen need not be tried again: its programs and those of preferred engines are the same.

    Where a preferred one, or each, was found not to hold, that counts for a while.
    """
    engine = recorded(record)
    names = [kind.name for kind, _ in candidates]
    if engine is None or engine.name not in names:
        return False
    stamps = [_stamp(kind, program) for kind, program in candidates]
    end = names.index(engine.name) + 1 if engine.holds else None
    stamp, lasts = list(record.get("stamp", ())), record.get("lasts_s")
    in_time = lasts is None or 0 <= now - record.get("tried_at", 0.0) < lasts
    return stamp[:end] == stamps[:end] and in_time


def choose(candidates: Candidates, folder: Path, now: float) -> dict[str, Any]:
    """The record of the first engine that holds; else of one that says why none does.

    Args:
        candidates: kinds and their programs, "" for one that is missing. folder: where probes make their files.
        now: seconds since the epoch.
    """
    began = time.monotonic()
    faults: list[tuple[str, str]] = []
    engine = None
    for kind, program in candidates:
        if not program:
            continue
        fault = kind.probe(program, folder)
        if not fault and "\n" not in "".join((program, *kind.marks())):
            engine = Engine(program, "", kind.name)
            break
        faults.append((program, f"{kind.name}: {fault or 'its path has a line break'}"))
    if engine is None:
        engine = (
            Engine(faults[0][0], "; ".join(fault for _, fault in faults)) if faults else Engine("", _MISSING)
        )
    lasts = max(_AGAIN_S, _AGAIN_TIMES * (time.monotonic() - began)) if faults else None
    stamps = [_stamp(kind, program) for kind, program in candidates]
    return {
        **asdict(engine),
        "stamp": stamps,
        "boot": processes.boot_id(""),
        "tried_at": now,
        "lasts_s": lasts,
    }


def is_lost(before: Mapping[str, Any], after: Mapping[str, Any], names: Sequence[str]) -> bool:
    """True if an engine held that now does not, nor one that is preferred: a command may have ended the trial.

    It could end each trial, and would run unconfined if that counted. So commands are refused, until the system is
    started again or a person installs anew.

    Args:
        before, after: records. names: of kinds, the preferred first.
    """
    engine, tried = recorded(before), recorded(after)
    if engine is None or not engine.holds or engine.name not in names:
        return False
    if not before.get("boot") or before["boot"] != after["boot"]:
        return False
    return not tried or not tried.holds or names.index(tried.name) > names.index(engine.name)


def _stamp(kind: EngineKind, program: str) -> list[Any]:
    """The stamp of an engine's answer: its program and files, the start of the system, and the user."""
    try:
        status = os.stat(program)
        facts: list[Any] = [status.st_ino, status.st_size, status.st_mtime_ns]
    except OSError:
        facts = []
    return [kind.name, program, *facts, processes.boot_id(""), os.getuid(), *kind.marks()]
