"""Commands of other sessions, begun or about to begin, that could move a project in a folder which all of them write."""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from sb.base.files import write_atomic
from sb.hosts.confinement.bubblewrap import encoded, starting
from sb.hosts.confinement.profile import contains

# In the words of each process that could begin a command: the script's name, the starter's subcommand, the home's folder.
_NAMED = b"confine"


def options_memory(state: str) -> str:
    """The name of options in memory, by which a start is seen.

    Args:
        state: SB_HOME/confine.
    """
    return f"sb-options-{hashlib.sha256(os.fsencode(state)).hexdigest()}"


def hold_in_others(state: Path, session: str, folders: Sequence[str]) -> None:
    """Have what was written for other sessions mount folders, too, so that no command started by it can move them.

    Args:
        state: SB_HOME/confine. session: whose files stay as they are.
    """
    for file in _options_of_others(state, session):
        with suppress(FileNotFoundError):
            content = file.read_bytes()
            words = [os.fsdecode(word) for word in content.split(b"\0")]
            missing = [folder for folder in folders if folder not in words]
            opens = any(contains(folder, word) for folder in missing for word in words)
            if missing and (opens or str(state.parent) not in words):
                file.unlink()  # it closes what is in the folder, or too little beside it: the default is stricter
            elif missing:
                more = encoded(word for folder in missing for word in ("--bind-try", folder, folder))
                write_atomic(file, content + more, durable=False)


def is_starting(state: Path, program: str) -> bool:
    """True while a command is about to run, by options that were read before they were changed, or beside its home.

    Args:
        state: SB_HOME/confine. program: bubblewrap's path.
    """
    memory = f"memfd:{options_memory(str(state))}"
    return any(_is_starting(process, str(state), memory, program) for process in _processes())


def _options_of_others(state: Path, session: str) -> Iterator[Path]:
    for folder in _entries(state / "folders"):
        if folder.name != session:
            yield from folder.rglob("options")
    for ticket in _entries(state / "tickets"):
        if ticket.name.endswith(".options") and not ticket.name.startswith(f"{session}."):
            yield ticket


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except FileNotFoundError:
        return []


def _processes() -> Iterator[str]:
    """The folders of this user's other processes in /proc."""
    user, own = os.geteuid(), str(os.getpid())
    for name in os.listdir("/proc"):
        with suppress(OSError):  # it ended
            if name.isdigit() and name != own and os.stat(f"/proc/{name}").st_uid == user:
                yield f"/proc/{name}"


def _is_starting(process: str, state: str, memory: str, program: str) -> bool:
    try:
        with open(f"{process}/cmdline", "rb", buffering=0) as file:
            words = file.read()
        # Without words it is of the kernel, or becoming another program just now.
        if words and _NAMED not in words:
            return False
        if words.startswith(os.fsencode(program) + b"\0") and _mark(program, state) in words:
            return True
        opened = [os.readlink(f"{process}/fd/{number}") for number in os.listdir(f"{process}/fd")]
    except OSError:
        return False  # it ended, or runs as another user
    return any(memory in target or (contains(state, target) and "options" in target) for target in opened)


def _mark(program: str, state: str) -> bytes:
    """The words of a command of a home between the program and the number of its options."""
    return b"\0".join(map(os.fsencode, starting(program, state, "")[1:]))


def at_once() -> BlockingIOError:
    """The error for a call that met the beginning of another session."""
    return BlockingIOError(
        errno.EAGAIN, "a command of another session began at the same moment; repeat the call"
    )


def check_known(
    folders: Iterable[str], known: Collection[str], project: str, writable: Collection[str]
) -> None:
    """Check that a profile knows of each folder that another session holds and that it would let be moved.

    Args:
        held: by all sessions now. known: when the profile was made. project: of this session, "" for none.
        writable: by the profile.

    Raises:
        BlockingIOError: it does not.
    """
    news = (path for path in folders if path not in known and not (project and contains(project, path)))
    if any(contains(root, path) for path in news for root in writable):
        raise at_once()
