"""The PID namespace of a home's confined commands: they neither see nor signal a process outside of it.

A holder keeps the namespace: a sleeper under bubblewrap, started when a profile is written. Commands join it, and make a
user namespace of their own below, so that none reaches the files of another one through /proc. Later commands still end
servers that earlier ones started.
"""

from __future__ import annotations

import fcntl
import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path

from sb.base.files import write_atomic
from sb.base.secrets.redaction import one_line
from sb.base.values.frozen import frozen

HOLDER = "holder"  # the file that names it: process id, start time and start of the system, or `none` and why
NONE = "none"
GAP = "processes outside can be seen and signalled, since no PID namespace can be joined here"
USER_FD, PID_FD = 8, 7  # the holder's namespaces, as `sb-confine` opens them
CLOSING = (
    f"exec {PID_FD}<&- {USER_FD}<&-; "  # what a shell runs first, so that its command does not have them
)
_FREE_FD = 20
RUNS, GONE = "runs", "gone"
_LOOKS, _QUIET = 6, 2  # times at the list of processes, and those at which none had just ended
_MOST_NAMED, _MOST_SHOWN = 3, 60  # programs in a question, and characters of each
_LASTS_S = 30 * 86_400  # of a home that was deleted by hand, nothing else ends it
_AGAIN_S = 60.0
_WAIT_S = 10.0
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_ENV = {"PATH": "/usr/bin:/bin:/run/current-system/sw/bin"}
_READY = "ready"
_OWN = frozenset(("1", "2"))  # the holder and its sleeper, as they number themselves
_TRIAL = "ls /proc/1/root/ > /dev/null 2>&1 && echo reached; echo joined"


@frozen
class Holder:
    """A living holder.

    Args:
        pid: of the first process of the namespace, as seen from outside. started: in ticks since the system's start.
    """

    pid: int
    started: str


def begin(folder: Path, program: str) -> None:
    """Have a holder, or note why there is none; tried again after a minute.

    Args:
        folder: SB_HOME/confine. program: bubblewrap's path.

    Raises:
        OSError: the folder cannot be written.
    """
    if _living(folder) is not None:
        return
    with open(folder / f"{HOLDER}.lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _living(folder) is not None or (fault(folder) and _age(folder / HOLDER) < _AGAIN_S):
            return
        made, why = _make(program)
        record = f"{made.pid} {made.started} {boot_id()}" if made is not None else f"{NONE} {boot_id()} {why}"
        write_atomic(folder / HOLDER, f"{record}\n".encode(errors="replace"), durable=False)


def fault(folder: Path) -> str:
    """The reason why commands of a home have no PID namespace, or ""."""
    words = _record(folder)
    return " ".join(words[2:]) or NONE if words[:1] == [NONE] else ""


def joining(program: str, user: int, pid: int) -> list[str]:
    """The words before bubblewrap that start it in the namespace.

    Args:
        user: the number of an open file, the holder's user namespace. pid: of its PID namespace.
    """
    return [program, *options(user, pid)]


def options(user: int, pid: int) -> Sequence[str]:
    """The options of `joining`."""
    return ("--userns", str(user), "--pidns", str(pid), "--dev-bind", "/", "/", "--proc", "/proc", "--")


def enter(folder: Path, program: str) -> list[str]:
    """The words before a confined command of this process, with the namespaces open; [] without a holder.

    Args:
        folder: SB_HOME/confine. program: bubblewrap's path.
    """
    holder = _living(folder)
    if holder is None:
        return []
    descriptors = _open(holder)
    if descriptors is None:
        return []
    copies = [fcntl.fcntl(descriptor, fcntl.F_DUPFD, _FREE_FD) for descriptor in descriptors]
    for descriptor, copy, number in zip(descriptors, copies, (USER_FD, PID_FD), strict=True):
        os.close(descriptor)
        os.dup2(copy, number)
        os.close(copy)
    return joining(program, USER_FD, PID_FD)


def is_alive(folder: Path) -> bool:
    """True while a process besides the holder's own lives in the namespace, or in one nested in it.

    Args:
        folder: SB_HOME/confine.
    """
    holder = _living(folder)
    if holder is None:
        return False
    inside = os.path.join(f"/proc/{holder.pid}/root", "proc")
    try:
        return is_any(
            lambda: [
                (name, state(f"{inside}/{name}"))
                for name in os.listdir(inside)
                if name.isdigit() and name not in _OWN
            ]
        )
    except OSError:
        return _living(folder) == holder  # it lives and cannot be looked into


def is_any(listing: Callable[[], Iterable[tuple[str, str]]]) -> bool:
    """True if a listing of processes names one that runs, or if none comes to rest.

    A process that starts the next one and ends may be over whenever it is looked at, and its successor is not listed.
    So they are listed again while such come up, and once more where any began meanwhile.

    Args:
        listing: names each process with its `state`; "" for one that does not count.
    """
    ended, quiet = set[tuple[str, str]](), 0
    for _ in range(_LOOKS):
        newest = _newest()
        found = {(name, state) for name, state in listing() if state}
        states = {state for _, state in found}
        if RUNS in states:
            return True
        if GONE not in states and found <= ended:
            quiet += 1
            if quiet == _QUIET or newest == _newest():
                return False
        ended |= found
    return True


def state(process: str) -> str:
    """`RUNS` for a process with a living thread, its start for one that has ended and is still listed; else `GONE`.

    Args:
        process: its folder in /proc.
    """
    try:
        fields = (
            Path(process, "stat").read_text(encoding="utf-8", errors="replace").rpartition(") ")[2].split()
        )
        # A program goes on even if its first thread has ended.
        return RUNS if fields[0] not in "ZX" or len(os.listdir(f"{process}/task")) > 1 else fields[19]
    except (OSError, IndexError):
        return GONE


def _newest() -> str:
    """The number of the process that was started last."""
    return Path("/proc/loadavg").read_text(encoding="utf-8").split()[-1]


def named(folder: Path) -> str:
    """The programs that run in the namespace, and how each is ended; for a question about them.

    Args:
        folder: SB_HOME/confine.
    """
    holder = _living(folder)
    found: list[str] = []
    with suppress(OSError):  # they ended meanwhile
        inside = Path(f"/proc/{holder.pid}/root" if holder is not None else os.devnull, "proc")
        for name in sorted({*filter(str.isdigit, os.listdir(inside))} - _OWN, key=int):
            words = (inside / name / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found += [f"`kill {name}` ends {one_line(words.strip(), _MOST_SHOWN)}"] if words.strip() else []
    more = [f"{len(found) - _MOST_NAMED} more"] if len(found) > _MOST_NAMED else []
    return ", ".join([*found[:_MOST_NAMED], *more]) or "it has begun and not ended"


def end_all(folder: Path) -> None:
    """End every process of the namespace, with the holder.

    Args:
        folder: SB_HOME/confine.
    """
    holder = _living(folder)
    if holder is not None:
        with suppress(OSError):  # it ended meanwhile
            descriptor = os.pidfd_open(holder.pid)
            try:
                if _start_of(holder.pid) == holder.started:
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
                    select.select([descriptor], [], [], _WAIT_S)
            finally:
                os.close(descriptor)
    (folder / HOLDER).unlink(missing_ok=True)


def _make(program: str) -> tuple[Holder | None, str]:
    """A new holder that commands can join; else None and why."""
    reader, writer = os.pipe()
    with open(reader, "rb", buffering=0) as info:
        words = (
            program, "--unshare-user", "--unshare-pid", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--proc", "/proc",
            "--chdir", "/", "--info-fd", str(writer), "--", "/bin/sh", "-c", f"echo {_READY}; exec sleep {_LASTS_S}",
        )  # fmt: skip
        try:
            # A shell in between is what does not wait for it: its parent may be a hook, which ends at once.
            done = subprocess.run(
                ["/bin/sh", "-c", '"$@" &', "sh", *words],
                cwd="/", env=_ENV, stdin=subprocess.DEVNULL, stdout=writer, stderr=subprocess.DEVNULL,
                start_new_session=True, pass_fds=(writer,), timeout=_WAIT_S, check=False,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError) as error:
            return None, str(error)
        finally:
            os.close(writer)
        pid = _pid_of(info.fileno()) if done.returncode == 0 else 0
    if not pid:
        return None, "no PID namespace can be made"
    holder = Holder(pid, _start_of(pid))
    why = _tried(program, holder)
    if not why:
        return holder, ""
    with suppress(OSError):
        os.kill(pid, signal.SIGKILL)
    return None, why


def _pid_of(info: int) -> int:
    """The holder's process, as bubblewrap tells it, once the sleeper runs; 0 if it does not."""
    content, until = b"", time.monotonic() + _WAIT_S
    while select.select([info], [], [], max(until - time.monotonic(), 0))[0]:
        part = os.read(info, 4096)
        content += part
        if _READY.encode() in content:
            return int(json.loads(content.replace(_READY.encode(), b""))["child-pid"])
        if not part:
            break
    return 0


def _tried(program: str, holder: Holder) -> str:
    """The reason why a command cannot join a holder, or ""."""
    descriptors = _open(holder)
    if descriptors is None:
        return "its PID namespace ended at once"
    inner = (
        "--unshare-user",
        "--cap-drop",
        "ALL",
        "--ro-bind",
        "/",
        "/",
        "--bind",
        "/proc",
        "/proc",
        "--dev",
        "/dev",
    )
    try:
        done = subprocess.run(
            [*joining(program, *descriptors), program, *inner, "--", "/bin/sh", "-c", _TRIAL],
            cwd="/", env=_ENV, stdin=subprocess.DEVNULL, capture_output=True, pass_fds=descriptors, timeout=_WAIT_S,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    finally:
        for descriptor in descriptors:
            os.close(descriptor)
    if done.stdout.split() == [b"joined"] and _start_of(holder.pid) == holder.started:
        return ""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    return "; ".join(lines) if lines else "a command in its PID namespace reaches others"


def _open(holder: Holder) -> tuple[int, int] | None:
    """Descriptors of a holder's user and PID namespaces; None if it has ended."""
    opened: list[int] = []
    try:
        opened.extend(os.open(f"/proc/{holder.pid}/ns/{name}", os.O_RDONLY) for name in ("user", "pid"))
        if _start_of(holder.pid) == holder.started:  # after they were opened: they are those of this process
            return opened[0], opened[1]
    except OSError:
        pass  # it ended: closed below
    for descriptor in opened:
        os.close(descriptor)
    return None


def _living(folder: Path) -> Holder | None:
    """The holder that is noted, if it lives."""
    words = _record(folder)
    if len(words) != 3 or not words[0].isdigit() or words[2] != boot_id():
        return None
    holder = Holder(int(words[0]), words[1])
    return holder if _start_of(holder.pid) == holder.started else None


def _record(folder: Path) -> list[str]:
    try:
        return (folder / HOLDER).read_text(encoding="utf-8").split()
    except (OSError, ValueError):
        return []


def _start_of(pid: int) -> str:
    """The time at which a process started; "" if there is none, or only what its parent has not noticed."""
    try:
        state, *fields = (
            Path(f"/proc/{pid}/stat")
            .read_text(encoding="utf-8", errors="replace")
            .rpartition(") ")[2]
            .split()
        )
    except (OSError, ValueError):
        return ""
    return "" if state in "ZX" else fields[18]


def lives(named: Sequence[str]) -> bool:
    """True while a process runs that is named by its number and its start, as `sb-confine` notes it."""
    number, since = [*named, "", ""][:2]
    return number.isdigit() and since.isdigit() and _start_of(int(number)) == since


def boot_id(unknown: str = "unknown") -> str:
    """The start of the system, as the kernel names it; `unknown` where it does not tell."""
    try:
        return _BOOT.read_text(encoding="utf-8").strip()
    except OSError:
        return unknown


def _age(path: Path) -> float:
    try:
        return abs(time.time() - path.stat().st_mtime)
    except OSError:
        return _AGAIN_S
