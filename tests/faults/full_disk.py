"""Run on a disk of a few megabytes, which this fills: what hooks, undo and the database do there; prints JSON lines.

full_disk FOLDER: where the disk is mounted.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from sb.config import current_config
from sb.errors import SBError
from sb.kernel.authority.signing import Label
from sb.runtime import open_runtime
from tests.hosts.hooks.conftest import Host

MIB = 1 << 20
REMOVE = "rm -rf src"


def fill(folder: Path, leave: int) -> None:
    """Leave so many bytes of the disk."""
    ballast = folder / "ballast"
    with suppress(OSError), ballast.open("ab", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    os.truncate(ballast, max(ballast.stat().st_size - leave, 0))


def tell(**facts: object) -> None:
    print(json.dumps(facts), flush=True)


def files_below(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_size for path in sorted(folder.rglob("*")) if path.is_file()}


def undo(host: Host) -> None:
    with open_runtime(host.config()) as runtime:
        mutations = runtime.recovery.mutations
        undone = runtime.recovery.undo(mutations.last(), Label("ada"), "not wanted")
        tell(state=str(undone.state), detail=undone.detail, files=files_below(host.project / "src"))


def main() -> None:
    folder = Path(sys.argv[1])
    project, src = folder / "project", folder / "project" / "src"
    os.environ["SB_HOME"], os.environ["HOME"] = str(folder / "home"), str(folder)
    src.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "."], cwd=project, check=True)
    host = Host(folder / "home", project)
    host.home.mkdir(parents=True)
    host.configure("undo: {tree_ms: 0}\n")  # no process in the background that takes room of its own
    for name in ("a", "b"):
        (src / name).write_bytes(os.urandom(MIB))
    host.tell("SessionStart", source="startup")
    tell(decision=str(host.before("Bash", "t1", command=REMOVE).decision))
    shutil.rmtree(src)
    host.after("Bash", "t1", command=REMOVE)
    fill(folder, 3 * MIB // 2)
    undo(host)
    (folder / "ballast").unlink()
    undo(host)
    fill(folder, MIB // 2)
    asked = host.before("Bash", "t2", command=REMOVE)
    snapshots = files_below(folder / "home" / "kept")
    tell(decision=str(asked.decision), reason=asked.reason, files=snapshots)
    fill(folder, 0)
    try:
        open_runtime(current_config())
    except SBError as error:
        tell(error=error.message, hint=error.hint)


if __name__ == "__main__":
    main()
