"""Probe of an engine: a command that it starts tries to write and read around it."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sb.hosts.confinement.profile import Profile

_PROBE_S = 10.0


def probe(start: Callable[[Profile, Path], list[str]], folder: Path) -> str:
    """The reason why an engine does not hold here, or "".

    Args:
        start: what is put in front of a command to hold it to a profile; it may write the one file that it is given.
        folder: where the probe may make its files; nothing is left there.
    """
    place = folder / f"probe-{os.getpid()}"
    options = folder / f"probe-{os.getpid()}.options"
    program = ""
    try:
        place.mkdir(mode=0o700)
        secret, writable = place / "secret", place / "writable"
        secret.write_text("secret\n")
        writable.mkdir()
        profile = Profile(writable=(os.path.realpath(writable),), unreadable=(os.path.realpath(secret),))
        words = start(profile, options)
        program = words[0]
        # Of the folder an outer mount is gone in there, so a process outside has to be looked through.
        code = _PROBE.format(place=shlex.quote(str(place)), pid=os.getpid())
        done = subprocess.run(
            [*words, "/bin/sh", "-c", code],
            cwd="/", stdin=subprocess.DEVNULL, capture_output=True, timeout=_PROBE_S, check=False, env={"PATH": "/usr/bin:/bin"},
        )  # fmt: skip
        if done.returncode != 0:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            return lines[-1] if lines else f"it ended with {done.returncode}"
        got = done.stdout.decode(errors="replace").split()
        if got != ["held"]:
            return f"a command got around it: {' '.join(got)}"
        if (place / "escaped").exists() or secret.read_text() != "secret\n":
            return "a command wrote around it"
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"{program}: {error}" if program else str(error)
    finally:
        for path in (options, place / "escaped", place / "secret", place / "writable" / "own"):
            path.unlink(missing_ok=True)
        for path in (place / "writable", place):
            with suppress(OSError):
                path.rmdir()
    return ""


_PROBE = """\
(echo own > {place}/writable/own) 2>/dev/null || echo not-writable
(echo x > {place}/escaped) 2>/dev/null && echo wrote
(echo x > /proc/{pid}/root{place}/escaped) 2>/dev/null && echo wrote-by-proc
cat {place}/secret > /dev/null 2>&1 && echo read
cat /proc/{pid}/root{place}/secret > /dev/null 2>&1 && echo read-by-proc
mount -o remount,rw / 2>/dev/null && (echo x > {place}/escaped) 2>/dev/null && echo remounted
umount {place}/secret 2>/dev/null && cat {place}/secret > /dev/null 2>&1 && echo unmounted
(echo x >> /proc/{pid}/mem) 2>/dev/null && echo wrote-memory
echo held
"""
