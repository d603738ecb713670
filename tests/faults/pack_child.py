"""A process for the fault tests: it takes, restores or removes snapshots until it is killed.

`python pack_child.py FOLDER WHAT COUNT`: kills itself with SIGKILL before its COUNT-th system call that changes the disk.
FOLDER holds `top`, the tree, `packs`, the store, and `rows.json`, what the call left.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sb.base.sources import SteeredClock
from sb.store.packs import DAY_S, PackStore
from sb.tools.pack_restoring import PackRestoring
from sb.tools.roots import Roots

CHANGING = ("open", "write", "link", "unlink", "replace", "mkdir", "rmdir", "symlink", "fchmod", "fsync")
NOW = 1_800_000_000.0
LATER = NOW + 30 * DAY_S


def die_before(count: int) -> None:
    """Let the process die before that many changing system calls were made."""
    left = [count]

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any, **keywords: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **keywords)

        return run

    for name in CHANGING:
        setattr(os, name, dying(getattr(os, name)))


def main(folder: Path, what: str, count: int) -> None:
    top, store = folder / "top", PackStore(folder / "packs", clock=SteeredClock())
    rows = json.loads((folder / "rows.json").read_bytes()) if what == "restore" else []
    die_before(count)
    if what == "take":
        store.take("new", [str(top)], session="run", now=NOW)
    elif what == "restore":
        restoring = PackRestoring(Roots([Path("/")], [folder / "packs"]), store)
        restoring.restore(rows, "k")
    else:
        store.expire(LATER, lambda key: key == "k")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
