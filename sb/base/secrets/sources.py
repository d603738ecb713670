"""Fetch secrets from where they are: an environment variable, a file, the keyring, or a command that prints one."""

from __future__ import annotations

import os
import shlex
import signal
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # most processes run no command
    from subprocess import Popen

COMMAND_S = 10.0  # after which a command that gives a value is ended
_LONGEST = 65_536  # bytes of a value


def fetch(kind: str, place: str, folder: Path = Path(), timeout_s: float = COMMAND_S) -> tuple[str, str]:
    """The text in a place, and why there is none, or "". Neither names anything but the place.

    Args:
        kind: env, file, keyring or command. place: the name of a variable, a path, SERVICE/USER, or a command line.
        folder: what a relative path starts from. timeout_s: how long a command may take, in seconds.
    """
    if kind == "command":
        return _from_command(place, timeout_s)
    return _from_file(folder, place) if kind == "file" else _OTHERS[kind](place)


def _from_file(folder: Path, place: str) -> tuple[str, str]:
    try:
        path = folder / Path(place).expanduser()
    except RuntimeError:
        return "", f"the file {place} is in the home of a user that there is not"
    try:
        with path.open("rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            data = opened.read(_LONGEST + 1)
    except OSError as error:
        return "", f"the file {path} cannot be read: {error.strerror}"
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        return "", f"the file {path} is open to other users: chmod 600 {shlex.quote(str(path))}"
    return _decoded(data, f"the file {path}")


def _from_command(place: str, timeout_s: float) -> tuple[str, str]:
    import subprocess

    quiet: dict[str, Any] = {
        "stdin": subprocess.DEVNULL,
        "stderr": subprocess.DEVNULL,
        "start_new_session": True,
    }
    try:
        words = shlex.split(place)
    except ValueError as error:
        return "", f"the command cannot be split into words: {error}"
    try:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, **quiet)
    except (OSError, ValueError) as error:
        return "", f"the command {words[0]!r} cannot be run: {getattr(error, 'strerror', None) or error}"
    try:
        data, _ = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _end(process)
        return "", f"the command {words[0]!r} did not end within {timeout_s:g} s"
    if process.returncode:
        return "", f"the command {words[0]!r} ended with {process.returncode}"
    return _decoded(data, f"the command {words[0]!r}")


def _end(process: Popen[bytes]) -> None:
    """End a command with everything that it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it ended meanwhile
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def _from_env(place: str) -> tuple[str, str]:
    value = os.environ.get(place)
    return ("", f"the environment variable {place} is not set") if value is None else (value, "")


def _from_keyring(place: str) -> tuple[str, str]:
    try:
        import keyring  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return "", "the keyring needs the package keyring: pip install keyring"
    service, _, user = place.partition("/")
    try:
        value = keyring.get_password(service, user)
    except Exception as error:  # noqa: BLE001 - a keyring's backend may raise anything
        return "", f"the keyring cannot be read: {type(error).__name__}"
    return ("", f"the keyring has nothing for {place}") if value is None else (str(value), "")


def _decoded(data: bytes, what: str) -> tuple[str, str]:
    if len(data) > _LONGEST:
        return "", f"{what} gives more than {_LONGEST} bytes"
    try:
        return data.decode(), ""
    except UnicodeDecodeError:
        return "", f"{what} gives a value that is no text"


_OTHERS: Mapping[str, Callable[[str], tuple[str, str]]] = {"env": _from_env, "keyring": _from_keyring}
