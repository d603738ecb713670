"""A confined command by `sb-confine`, and with a ticket, against the same command by a shell alone.

The bar is 5 ms on the machine of the first measurement, where `python -I -S -c pass` took 5.6: what confinement adds is
quoted in such interpreters. The floor is what bubblewrap takes for a command that it holds to nothing: its two starts,
without a profile and without the script.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from sb.base.sources import SYSTEM_CLOCK
from sb.config.home import Home
from sb.hosts.confinement import processes
from sb.hosts.confinement.credentials import credentials_of
from sb.hosts.confinement.engines import BUBBLEWRAP
from sb.hosts.confinement.profile import Grounds, make_profile, own_and_private
from sb.hosts.confinement.store import ConfineStore
from sb.hosts.install.confine_script import script
from sb.shell.places.guarded import Guarded

RUNS = 60
BAR = 0.9  # bare interpreters
_LINE = "source /nowhere 2>/dev/null || true && eval {} < /dev/null && pwd -P >| /dev/null"


def report() -> Iterator[str]:
    """One line without, one with a ticket, and the floor of bubblewrap; nothing where no engine holds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        home, project = Home(folder / ".sb"), folder / "shop"
        for path in (home.keys, project / ".git" / "hooks", project / ".claude", folder / ".ssh"):
            path.mkdir(parents=True)
        for path in (
            folder / ".ssh" / "id_ed25519",
            folder / ".npmrc",
            folder / ".netrc",
            folder / ".pypirc",
        ):
            path.write_text("secret", encoding="utf-8")
        store = ConfineStore(home, SYSTEM_CLOCK)
        if not store.engine().holds:
            yield f"confined command: no engine holds here: {store.engine().fault}"
            return
        grounds = Grounds(
            str(folder), str(project), *own_and_private(home, [home.folder]), Guarded(), ["/var/tmp"],
            credentials=credentials_of(str(folder)),
        )  # fmt: skip
        profile = make_profile(grounds)
        store.put_profile(str(project), profile)
        confiner = folder / "sb-confine"
        confiner.write_bytes(script(home, sys.executable, folder, ["sb-hook"]))
        confiner.chmod(0o700)
        bare = [sys.executable, "-I", "-S", "-c", "pass"]
        plain = ["/bin/bash", "-c", _LINE.format("true")]
        for number, what in enumerate(("confined command", "confined command with a ticket")):
            rows = []
            for run in range(RUNS):
                command = f"true {run}" if number else "true"
                line = _LINE.format(f"'{command}'" if number else command)
                if number:
                    store.issue(command, str(project), profile, outside=False)
                rows.append(tuple(_ms(item, project) for item in ([str(confiner), line], plain, bare)))
                store.revoke(command, str(project))
            more, floor = median(row[0] - row[1] for row in rows), median(row[2] for row in rows)
            ratio = median((row[0] - row[1]) / row[2] for row in rows)
            verdict = f"bar {BAR:g}x  {'ok' if ratio <= BAR else 'OVER'}"
            yield f"{what + ', more than bash':<44} {more:>9.1f} ms   python -I -S -c pass {floor:>20.1f} ms   {ratio:>5.2f}x  {verdict}"
        if store.engine().name == BUBBLEWRAP.name:
            yield _floor(store, plain, bare, project)
        store.end_all()


def _floor(store: ConfineStore, plain: list[str], bare: list[str], project: Path) -> str:
    program = store.engine().program
    joining = processes.enter(store.folder, program)
    descriptors = (processes.USER_FD, processes.PID_FD) if joining else ()
    least = [*joining, program, "--unshare-user", "--dev-bind", "/", "/", *plain]
    rows = [(_ms(least, project, descriptors), _ms(plain, project), _ms(bare, project)) for _ in range(RUNS)]
    for descriptor in descriptors:
        os.close(descriptor)
    more, ratio = median(row[0] - row[1] for row in rows), median((row[0] - row[1]) / row[2] for row in rows)
    return f"{'bubblewrap that holds nothing, more than bash':<44} {more:>9.1f} ms {'':>45}   {ratio:>5.2f}x  the floor"


def _ms(command: list[str], folder: Path, descriptors: Sequence[int] = ()) -> float:
    started = time.perf_counter()
    subprocess.run(
        command,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "SHELL": "/bin/bash"},
        check=True,
        capture_output=True,
        pass_fds=descriptors,
    )
    return (time.perf_counter() - started) * 1000
