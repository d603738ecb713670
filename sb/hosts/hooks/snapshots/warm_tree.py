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
_MOST_AGAIN_S = 3.0  # for a call that was approved, and waits for it


def watch(config: Config, project: str) -> None:
    """Watch the folders of a project that has a queue, so that storing it again is free while nothing changes."""
    from sb.runtime.parts import open_trees

    with suppress(SBError):  # it is looked at as a whole
        open_trees(config).watch(project, _MOST_S)


def _take_again(config: Config, key: str) -> None:
    """Take the snapshot of what a call names again, as it is now; raises SBError, and leaves the one that is there."""
    from sb.runtime.parts import open_snapshots
    from sb.store.path_states import roots_of

    packs, undo = open_snapshots(config).packs, config.undo
    if packs.has(key):
        old = packs.get(key)
        packs.take(
            key,
            roots_of(old),
            session=old.header.session,
            session_share=1.0,
            max_bytes=undo.call_max_bytes,
            max_files=undo.call_max_files,
            extra={name: packs.content(key, entry) for name, entry in old.extra.items()},
            hard_links=True,
            again=True,
        )


def main(project: str, key: str = "") -> None:
    """Store a project's tree; what goes wrong is noted there, and `sb doctor` says it.

    Args:
        key: of a call that begins now; what goes wrong is noted in its undo record.
    """
    from sb.config import load_config
    from sb.runtime.parts import open_trees

    os.chdir("/")  # not the agent's folder, from which it was started
    os.nice(0 if key else 5)
    config = load_config(env=os.environ, cwd=Path("/"), flags={}, with_project=False, tolerant=True)
    trees, seconds = open_trees(config), config.undo.tree_ms / 1000
    if key:
        try:
            trees.renew(project, key, trees.store(project, max(seconds, _MOST_AGAIN_S)))
            _take_again(config, key)
        except SBError as error:
            trees.renew(project, key, None, f"it was to be stored anew when the call began: {error.message}")
        return
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
