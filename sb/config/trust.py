"""Record which project files a person has trusted, by digest.

An agent may be able to write a project's file, so a file is trusted by the digest of its bytes: the bytes that
are hashed are the bytes that are parsed, and a change takes the trust away.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from sb.base.files import write_atomic
from sb.base.reading import Report
from sb.base.text import plain
from sb.base.values.canonical import digest
from sb.config.home import Home
from sb.config.sources import PROJECT_FILE, read_bytes, read_settings
from sb.errors import ConfigError


def trusted_digests(home: Home) -> dict[str, str]:
    """Absolute path of a project file to the SHA-256 (hex) of the bytes that were accepted.

    Raises:
        ConfigError: the record cannot be read, or is not what `trust` wrote.
    """
    report = Report(str(home.trusted))
    data = read_bytes(home.trusted, report)
    if data is None:
        return {}
    report.require_none()
    try:
        record = json.loads(data)
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict) or not all(isinstance(value, str) for value in record.values()):
        raise ConfigError(f"{report.source}: is damaged", "remove it, then run sb config trust again")
    return record


def is_trusted(home: Home, path: Path) -> bool:
    """True if the file, as it is now, is the one that was accepted.

    Raises:
        ConfigError: as `trusted_digests`.
    """
    path = _project_path(path)
    report = Report(str(path))
    data = read_bytes(path, report)
    if data is None or report.problems:
        return False
    return trusted_digests(home).get(str(path)) == digest(data)


def named_packs(path: Path, env: Mapping[str, str]) -> list[Path]:
    """The rule packs that a project file names; `trust` accepts them too."""
    report = Report(str(path), _project_path(path).parent, env)
    settings = read_settings(read_bytes(path, report) or b"", report)
    return [pack.path for pack in settings["hooks.packs"].value] if "hooks.packs" in settings else []


def trust(home: Home, path: Path, *, env: Mapping[str, str], displayed: str = "") -> str:
    """Accept a project file, and the rule packs that it names, as they are now; its SHA-256 (hex).

    Args:
        env: for `~`, as in `load_config`.
        displayed: the digest of what the person was shown; the file is refused if it has changed since.

    Raises:
        ConfigError: it is not a valid project file, has changed since, or the record cannot be written.
    """
    path = _project_path(path)
    report = Report(str(path), path.parent, env)
    if path.name != PROJECT_FILE:
        report.add(0, "", f"is not a project file: those are named {PROJECT_FILE}")
    data = read_bytes(path, report)
    if data is None:
        report.add(0, "", "does not exist")
        data = b""
    settings = read_settings(data, report)
    report.require_none()
    packs = [pack.path for pack in settings["hooks.packs"].value] if "hooks.packs" in settings else []
    pinned = {str(pack): digest(read_bytes(pack, Report(str(pack))) or b"") for pack in packs}
    found = digest(data)
    if displayed and found != displayed:
        raise ConfigError(f"{report.source}: has changed since it was shown", "look at it again")
    home.create()
    _write_private(home.trusted, {**trusted_digests(home), **pinned, str(path): found})
    return found


def _project_path(path: Path) -> Path:
    """Absolute, its folders without symbolic links: the name that `find_project` gives it."""
    return Path(os.path.realpath(path.parent)) / path.name


def _write_private(path: Path, record: dict[str, str]) -> None:
    text = json.dumps(record, indent=2, sort_keys=True) + "\n"
    try:
        write_atomic(path, text.encode("ascii"))
    except OSError as error:
        raise ConfigError(f"{plain(path, one_line=True)}: cannot be written: {error.strerror}") from None
