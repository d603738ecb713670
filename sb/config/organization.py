"""The policy of an organization: signed settings above every other layer, which those may narrow and never widen."""

from __future__ import annotations

import base64
import binascii
import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sb.canonical import digest
from sb.config.document import Report, Scalar, Table, parse_document
from sb.config.kinds import Reading
from sb.config.model import BY_KEY
from sb.config.rules import PolicyRule
from sb.config.setting import Setting
from sb.config.sources import Found, read_bytes, settings_of_table
from sb.errors import ConfigError

POLICY, SIGNATURE, KEY = "policy.yaml", "policy.sig", "policy.key"
_RULES = "policy"
_INTENTS = "intents"
_PREFIX = "ed25519:"
_LONGEST_VERSION = 64  # characters


class Place(NamedTuple):
    """Where the policy is.

    Args:
        folder: holds the policy, its signature and the public key that is pinned.
        owner: the user id that has to own the folder, its files and the folders above.
        top: the highest folder that is looked at.
    """

    folder: Path
    owner: int
    top: Path


SYSTEM = Place(
    Path("/Library/Application Support/SecondBrain" if sys.platform == "darwin" else "/etc/secondbrain"),
    0,
    Path("/"),
)


class Organization(NamedTuple):
    """A policy that was read and whose signature fits.

    Args:
        version: as the policy states it, with the beginning of its SHA-256 (hex).
        source: its file. settings: by key, with their lines.
    """

    version: str
    source: str
    settings: Mapping[str, Found]


def read_organization(place: Place, env: Mapping[str, str]) -> Organization | None:
    """The policy of this machine's organization; None where it has none.

    Args:
        env: for `~`, as in `load_config`.

    Raises:
        ConfigError: there is one, and it cannot be relied on: somebody else could have written it, its signature does
            not fit the pinned key, or it sets what no policy can.
    """
    try:
        os.lstat(place.folder)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigError(f"{place.folder}: cannot be read: {error.strerror}") from None
    _require_owned(place)
    data, signature, key = (_read(place, name) for name in (POLICY, SIGNATURE, KEY))
    if not _signed(key, data, signature):
        raise ConfigError(
            f"{place.folder / POLICY}: its signature does not fit the pinned key",
            "whoever manages this machine signs it again: docs/reference/organization-policy.md",
        )
    return _parsed(place.folder / POLICY, data, env)


def apply_organization(row: Setting, asked: Any, current: Any) -> Any:
    """The value that now counts: no wider than the policy's, and no wider than the one in force without it.

    Raises:
        ConfigError: the two have nothing in common where nothing would mean anything.
    """
    if row.key == _RULES:
        return (*current, *(rule for rule in asked if rule not in current))
    if row.key == _INTENTS and current and not set(current) & set(asked):
        raise ConfigError("intents: none of the registered ones is one that the organization's policy names")
    if row.narrow is None:
        raise ConfigError(f"{row.key}: no policy of an organization can set it")
    value, _ = row.narrow.apply(current, asked)
    return value


def _require_owned(place: Place) -> None:
    """Raise ConfigError unless only its owner can have written what is in the folder."""
    folders = [place.folder]
    while folders[-1] != place.top and folders[-1] != folders[-1].parent:
        folders.append(folders[-1].parent)
    for path in folders:
        _require_owner(path, place.owner, stat.S_ISDIR, "folder")
    for name in (POLICY, SIGNATURE, KEY):
        _require_owner(place.folder / name, place.owner, stat.S_ISREG, "file")


def _require_owner(path: Path, owner: int, is_kind: Any, kind: str) -> None:
    try:
        found = os.lstat(path)
    except OSError as error:
        raise ConfigError(
            f"{path}: the policy of the organization cannot be read: {error.strerror}",
            "whoever manages this machine puts it back, or removes the folder",
        ) from None
    if not is_kind(found.st_mode):
        raise ConfigError(f"{path}: is not a {kind}", "the policy of the organization follows no links")
    if found.st_uid != owner or found.st_mode & 0o022:
        raise ConfigError(f"{path}: others than root can write it", "chown root, chmod go-w")


def _read(place: Place, name: str) -> bytes:
    report = Report(str(place.folder / name))
    data = read_bytes(place.folder / name, report)
    report.require_none()
    return data or b""


def _signed(key: bytes, data: bytes, signature: bytes) -> bool:
    """Whether the pinned key made this signature; False for whatever is neither (Ed25519, RFC 8032)."""
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        raw = base64.b64decode(key.decode("ascii").strip().removeprefix(_PREFIX), validate=True)
        Ed25519PublicKey.from_public_bytes(raw).verify(
            base64.b64decode(signature.strip(), validate=True), data
        )
    except (InvalidSignature, ValueError, binascii.Error):
        return False
    return True


def _parsed(path: Path, data: bytes, env: Mapping[str, str]) -> Organization:
    report = Report(str(path))
    table = parse_document(data, report)
    reading = Reading(report, path.parent, env)
    versions = [entry for entry in table.entries if entry.key == "version"]
    version = versions[0].value if versions else None
    if not isinstance(version, Scalar) or not 0 < len(version.text) <= _LONGEST_VERSION:
        report.add(table.line, "version", f"must be 1 to {_LONGEST_VERSION} characters")
        version = Scalar(0, "")
    others = Table(table.line, tuple(entry for entry in table.entries if entry.key != "version"))
    settings = settings_of_table(others, reading)
    for key, found in settings.items():
        if key != _RULES and BY_KEY[key].narrow is None:
            report.add(
                found.line, key, "no policy of an organization can set it", "it sets what can be narrowed"
            )
        elif key == _RULES:
            _require_no_allow(found, report)
    report.require_none()
    return Organization(f"{version.text} {digest(data)[:12]}", str(path), settings)


def _require_no_allow(found: Found, report: Report) -> None:
    """A rule that allows could widen what people's own rules allow."""
    rules: tuple[PolicyRule, ...] = found.value
    if any(rule.effect == "allow" for rule in rules):
        report.add(found.line, _RULES, "a policy of an organization denies or asks, and allows nothing")
