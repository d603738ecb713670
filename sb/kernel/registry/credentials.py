"""Credentials by reference: the value is fetched when a tool is called, and everything else holds the name alone.

A tool names its credentials in its contract, `metadata={"credentials": {"token": "billing"}}`: parameter to name. The
configuration says where each name's value is; an agent can neither choose a credential nor pass a value for it.
"""

from __future__ import annotations

import os
import shlex
import signal
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sb.config.credentials import CredentialSource
from sb.errors import ContractError
from sb.kernel.contracts import ToolErrorCode, ToolSpec
from sb.kernel.results import ToolError

if TYPE_CHECKING:  # most processes run no command
    from subprocess import Popen

CREDENTIALS = "credentials"  # in a contract's metadata
COMMAND_S = 10.0  # after which a command that gives a value is ended
_LONGEST = 65_536  # bytes of a value
_NONE: Mapping[str, CredentialSource] = {}


def reference(name: str) -> str:
    """What stands for a credential in arguments, records and messages; masking leaves it as it is."""
    return f"[reference:{name}]"


def credentials_of(spec: ToolSpec) -> dict[str, str]:
    """Parameter to name of the credentials that a tool gets.

    Raises:
        ContractError: they are not declared as a mapping of texts.
    """
    declared = spec.metadata.get(CREDENTIALS)
    if declared is None:
        return {}
    if not isinstance(declared, Mapping) or not all(
        isinstance(one, str) and one for pair in declared.items() for one in pair
    ):
        raise ContractError(f"tool {spec.tool_id}: credentials must be a mapping of parameters to names")
    return dict(declared)


def with_references(declared: Mapping[str, str], args: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The arguments with the references of their credentials, and what is wrong with them, or "".

    Nobody passes a value: a parameter that is filled in may be left out, empty, or hold its reference.
    """
    for parameter, name in declared.items():
        if args.get(parameter) not in (None, "", reference(name)):
            return args, f"argument {parameter!r} is a credential, which the kernel fills in: leave it out"
    return args | {parameter: reference(name) for parameter, name in declared.items()}, ""


class Credentials:
    """Fetches values where the configuration says they are.

    Args:
        sources: name to place. folder: what a relative path of a file starts from.
    """

    def __init__(
        self,
        sources: Mapping[str, CredentialSource] = _NONE,
        folder: Path = Path(),
        timeout_s: float = COMMAND_S,
    ) -> None:
        self.sources = sources
        self._folder = folder
        self._timeout_s = timeout_s

    def missing(self, names: Mapping[str, str]) -> str:
        """The first of a tool's credentials that the configuration does not name, or ""."""
        return next((name for name in names.values() if name not in self.sources), "")

    def value(self, name: str) -> str:
        """The value of a credential, fetched now.

        Raises:
            ToolError: it cannot be fetched; the message names the reference and never a value.
        """
        source = self.sources.get(name)
        if source is None:
            raise _failed(name, "is not in `credentials` of the configuration")
        fetch = {
            "env": _from_env,
            "file": self._from_file,
            "keyring": _from_keyring,
            "command": self._from_command,
        }
        value, problem = fetch[source.kind](source.place)
        value = value.removesuffix("\n").removesuffix("\r")
        if not problem and not value.strip():
            problem = f"{source.kind} gives an empty value"
        if not problem and ("\n" in value or "\r" in value) and source.kind != "file":
            problem = f"{source.kind} gives more than one line, and a credential is one"
        if not problem and "\0" in value:
            problem = f"{source.kind} gives a value that is no text"
        if problem:
            raise _failed(name, problem)
        return value

    def _from_file(self, place: str) -> tuple[str, str]:
        path = self._folder / Path(place).expanduser()
        try:
            with path.open("rb") as opened:
                mode = os.fstat(opened.fileno()).st_mode
                data = opened.read(_LONGEST + 1)
        except OSError as error:
            return "", f"the file {path} cannot be read: {error.strerror}"
        if mode & (stat.S_IRWXG | stat.S_IRWXO):
            return "", f"the file {path} is open to other users: chmod 600 {shlex.quote(str(path))}"
        return _decoded(data, f"the file {path}")

    def _from_command(self, place: str) -> tuple[str, str]:
        import subprocess

        words = shlex.split(place)
        quiet: dict[str, Any] = {
            "stdin": subprocess.DEVNULL,
            "stderr": subprocess.DEVNULL,
            "start_new_session": True,
        }
        try:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, **quiet)
        except (OSError, ValueError) as error:
            return "", f"the command {words[0]!r} cannot be run: {getattr(error, 'strerror', None) or error}"
        try:
            data, _ = process.communicate(timeout=self._timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return "", f"the command {words[0]!r} did not end within {self._timeout_s:g} s"
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


def _failed(name: str, problem: str) -> ToolError:
    return ToolError(ToolErrorCode.VALIDATION_ERROR, f"{reference(name)} {problem}")
