"""Store the tree of a project in a process of its own, which a hook does not wait for: `python -m … PROJECT`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path

from sb.base.sources import SYSTEM_CLOCK
from sb.config import Config
from sb.errors import SBError
from sb.tools.hosted.trees import too_slow

_MOST_S = 300.0


def watch(config: Config, project: str) -> None:
    """Watch the folders of a project that has a queue, so that storing it again is free while nothing changes."""
    from sb.runtime.parts import open_trees

    with suppress(SBError):  # it is looked at as a whole
        open_trees(config).watch(project, _MOST_S)


def main(project: str) -> None:
    """Store a project's tree; what goes wrong is noted there, and `sb doctor` says it."""
    from sb.config import load_config
    from sb.runtime.parts import open_trees

    os.chdir("/")  # not the agent's folder, from which it was started
    os.nice(5)
    config = load_config(env=os.environ, cwd=Path("/"), flags={}, with_project=False, tolerant=True)
    trees, seconds = open_trees(config), config.undo.tree_ms / 1000
    try:
        trees.store(project, _MOST_S)
        begun = SYSTEM_CLOCK.monotonic()
        trees.store(project, _MOST_S)  # as the next call will find it
        if SYSTEM_CLOCK.monotonic() - begun > seconds:
            trees.note_slow(project, too_slow(seconds))
    except SBError as error:
        trees.note_slow(project, error.message)


if __name__ == "__main__":
    with suppress(SBError):  # nobody reads what it prints
        main(sys.argv[1])
