"""Files of a project that running programs have mapped to write: what they write there is told to nobody.

Only the first write to a page of such a file sets its time, and no watch hears of any; so their contents are read.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress

from sb.store.trees.git_program import Deadline, Git, names_of

_PROC = "/proc"


def mapped_files(project: str) -> set[str]:
    """The absolute paths of a project's files that programs have mapped to write, as far as the system tells.

    A program counts that works in the project, or has mounts of its own as confined ones have. Those that work
    elsewhere are not looked at: reading what all of a person's programs have mapped takes longer than a tree.
    """
    found, top = set[str](), os.fsencode(project.replace("\n", "\\012"))
    for maps in _maps(project):
        with suppress(OSError), open(maps, "rb") as file:
            content = file.read()
            for line in content.split(b"\n") if top in content else ():
                fields = line.split(None, 5)
                if len(fields) == 6 and fields[1][1:2] == b"w" and fields[1][3:4] == b"s":
                    path = os.fsdecode(fields[5])  # two notations, which a name may have as well
                    found |= {path, path.replace("\\012", "\n"), path.removesuffix(" (deleted)")}
    return {path for path in found if path.startswith(f"{project}/")}


def mapped_in(git: Git, paths: Iterable[str], deadline: Deadline) -> list[str]:
    """The relative names of such files that are stored in one work folder."""
    top = f"{git.work}/"
    names = [path.removeprefix(top) for path in sorted(paths) if path.startswith(top)]
    return [*names_of(git.run("ls-files", "-z", "--", *names, deadline=deadline))] if names else []


def _maps(project: str) -> Iterator[str]:
    """The lists of mapped files of the programs that count."""
    try:
        own, entries = os.readlink(f"{_PROC}/self/ns/mnt"), os.listdir(_PROC)
    except OSError:
        return
    for entry in entries:
        if entry.isdecimal():
            with suppress(OSError):
                folder = os.readlink(f"{_PROC}/{entry}/cwd")
                if f"{folder}/".startswith(f"{project}/") or (
                    os.readlink(f"{_PROC}/{entry}/ns/mnt") != own
                    and os.path.isdir(f"{_PROC}/{entry}/root{project}")
                ):
                    yield f"{_PROC}/{entry}/maps"
