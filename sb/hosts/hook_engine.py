"""Engine of confinement as hooks find it: they run from a copy of `sb` of their own, with other packages."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from sb.base.sources import SYSTEM_CLOCK
from sb.config.home import Home
from sb.hosts.confinement.engines import Engine
from sb.hosts.confinement.store import ConfineStore
from sb.tools.hosted.guarding import current_runtime, interpreter

COMMAND = "engine"  # what prints it, of the file that hooks start with
_TRIAL_S = 30.0


def engine_of_hooks(home: Home) -> Engine:
    """The engine that the next hook uses, tried now by the copy that hooks run from; it is noted for them, too."""
    runtime = current_runtime(home)
    if runtime is None:
        return Engine("", "no host runs hooks of this home yet")
    start = [interpreter(), "-I", "-S", "-X", f"pycache_prefix={runtime / 'pycache'}"]
    try:
        done = subprocess.run(
            [*start, str(runtime / "start.py"), COMMAND, str(home.folder)],
            capture_output=True,
            timeout=_TRIAL_S,
            check=True,
        )
        return Engine(**json.loads(done.stdout))
    except (OSError, subprocess.SubprocessError, ValueError, TypeError) as error:
        return Engine("", f"hooks cannot try it: {error}")


def main(home: str) -> None:
    """Print the engine of a home as JSON."""
    try:
        engine = ConfineStore(Home(Path(home)), SYSTEM_CLOCK).engine()
    except OSError as error:
        engine = Engine("", f"what holds commands here cannot be read or written: {error}", unknown=True)
    sys.stdout.write(json.dumps(asdict(engine)))
