"""Read and sign an organization's policy: settings of a system folder that everything else may only narrow.

The folder, its files and their owner are constants: no setting, flag or variable may name another place.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.files import write_atomic
from sb.base.located import Word
from sb.base.reading import Field, Kind, Place, Report, WrongValue, describe, read_fields, text
from sb.base.text import plain, shorten
from sb.base.values.canonical import digest
from sb.base.values.signatures import public_bytes, signature_fits
from sb.config.document import parse_document
from sb.config.sources import Found, read_regular, read_table
from sb.errors import ConfigError, UsageError

FOLDER = Path("/etc/sb")
OWNER = 0  # root
KEY = "organization.pub"
MAIN = "policy.yaml"
MORE = "policy.d"
SIGNATURE = ".sig"
_DOMAIN = b"sb organization policy\n"  # no other statement that a key signs begins so
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW
_SHOWN = 80  # characters of a name or version


class PolicyFile(NamedTuple):
    """One file of the organization.

    Args:
        organization, version: as the file says.
        sha256: of its bytes, in hex.
        settings: by key, as in `config.yaml`.
    """

    path: Path
    organization: str
    version: str
    sha256: str
    settings: dict[str, Found]

    def __str__(self) -> str:
        return f"{self.organization}, version {self.version} (sha256 {self.sha256[:16]})"


def installed_policies() -> tuple[PolicyFile, ...]:
    """The organization's files in force, each narrowing those before it; none without a folder.

    Raises:
        ConfigError: the folder or a file is not the system's own, a signature does not fit, or a setting is wrong. What
            an organization demands is then unknown, so nothing is allowed.
    """
    try:
        found = os.lstat(FOLDER)
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise ConfigError(f"{FOLDER}: cannot be read: {error.strerror}", _WHO) from None
    if not stat.S_ISDIR(found.st_mode):
        raise ConfigError(f"{FOLDER}: is not a folder", _WHO)
    _require_owned(FOLDER, found)
    paths = policy_paths()
    if not paths:
        return ()
    key = _pinned_key()
    return tuple(_verified(path, key) for path in paths)


_WHO = "whoever manages this machine can mend it"


def policy_paths() -> list[Path]:
    """`policy.yaml`, then those of `policy.d` by name.

    Raises:
        ConfigError: the folder of the latter is not the system's own, or cannot be read.
    """
    main, more = FOLDER / MAIN, FOLDER / MORE
    paths = [main] if os.path.lexists(main) else []
    try:
        _require_owned(more, os.lstat(more))
        return paths + sorted(more / name for name in os.listdir(more) if name.endswith(".yaml"))
    except FileNotFoundError:
        return paths
    except OSError as error:
        raise ConfigError(f"{more}: cannot be read: {error.strerror}", _WHO) from None


def _require_owned(path: Path, found: os.stat_result) -> None:
    if found.st_uid != OWNER:
        raise ConfigError(f"{path}: does not belong to root", _WHO)
    if found.st_mode & 0o022:
        raise ConfigError(f"{path}: others than root can write to it", _WHO)


def _read(path: Path) -> bytes:
    """The bytes of a file that only root can have written, in one read."""
    try:
        handle = os.open(path, _OPEN)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}", _WHO) from None
    try:
        _require_owned(path, os.fstat(handle))
        data, problem = read_regular(handle)
    except OSError as error:
        data, problem = b"", f"cannot be read: {error.strerror}"
    finally:
        os.close(handle)
    if problem:
        raise ConfigError(f"{path}: {problem}", _WHO)
    return data


def _pinned_key() -> str:
    path = FOLDER / KEY
    key = _read(path).decode("ascii", "replace").strip()
    try:
        public_bytes(key)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}", _WHO) from None
    return key


def _verified(path: Path, key: str) -> PolicyFile:
    data = _read(path)
    signature = _read(path.with_name(path.name + SIGNATURE)).decode("ascii", "replace").strip()
    if not signature_fits(key, _DOMAIN + data, signature):
        raise ConfigError(f"{path}: is not signed with the key of {FOLDER / KEY}", _WHO)
    report = _report(path)
    policy = _parse(path, data, report)
    report.require_none(listing="")
    return policy


def sign_policy(path: Path, sign: Callable[[bytes], str]) -> PolicyFile:
    """Check a policy file, and write its signature beside it.

    Args:
        sign: gives the signature of the key's holder in base64; "" if there is no key.

    Raises:
        ConfigError: the file cannot be read or has a wrong setting, or the signature cannot be written.
        UsageError: there is no key.
    """
    report = _report(path)
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{report.source}: cannot be read: {error.strerror}") from None
    policy = _parse(path, data, report)
    report.require_none(listing="")
    signature = sign(_DOMAIN + data)
    if not signature:
        raise UsageError(
            "a policy is signed with an operator's key, and nobody is enrolled", "sb operator init"
        )
    target = path.with_name(path.name + SIGNATURE)
    try:
        write_atomic(target, f"{signature}\n".encode("ascii"))
    except OSError as error:
        raise ConfigError(f"{plain(target, one_line=True)}: cannot be written: {error.strerror}") from None
    return policy


def _report(path: Path) -> Report:
    # Without the variables of this process: one that an agent sets would move the folders that the organization allows.
    return Report(str(path), path.absolute().parent)


def _parse(path: Path, data: bytes, report: Report) -> PolicyFile:
    """The content of a policy file; problems go to `report`."""
    document = parse_document(data, report)
    if report.problems:  # nothing else counts in a file that cannot be read
        return PolicyFile(path, "", "", digest(data), {})
    try:
        values = read_fields(document, _FIELDS, Place(report, line=document.line))
    except WrongValue:
        values = {}
    organization, version = (shorten(values.get(name, ""), _SHOWN) for name in ("organization", "version"))
    return PolicyFile(path, organization, version, digest(data), values.get("settings", {}))


def _settings(value: Any, place: Place) -> dict[str, Found]:
    if isinstance(value, Word) and value.missing:  # all its lines may be commented out
        return {}
    if not isinstance(value, Mapping):
        raise place.refuse(f"must be a mapping of settings, not {describe(value)}")
    return read_table(value, place._replace(key=""))


_FIELDS = (
    Field("organization", text("the organization's name"), "whose policy it is", required=True),
    Field("version", text("a version, such as 12"), "which version of it, such as 12", required=True),
    Field("settings", Kind(_settings, {"type": "object"}), "as in config.yaml", default={}),
)
