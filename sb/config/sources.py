"""Find and read configuration files, and check them against the table of settings."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sb.config.document import SHOWN, Entry, Problem, Report, Scalar, Table, describe, parse_document
from sb.config.home import Home
from sb.config.kinds import Reading
from sb.config.model import BY_KEY, GROUPS
from sb.config.rules import PolicyRule
from sb.errors import ConfigError
from sb.repository import git_root
from sb.text import human_bytes, nearest, shorten

MAX_BYTES = 1 << 20
PROJECT_FILE = "sb.yaml"
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class Found(NamedTuple):
    """The value that one line of a file gives to a setting."""

    value: Any
    line: int


def find_project(cwd: Path, home: Home) -> Path | None:
    """The nearest sb.yaml at or above `cwd`, up to the root of its git repository, never one inside SB_HOME."""
    start = Path(os.path.realpath(cwd))
    root = git_root(str(start))
    for folder in (start, *start.parents):
        path = folder / PROJECT_FILE
        if os.path.lexists(path) and not home.contains(path):
            return path
        if str(folder) == root:
            return None
    return None


def read_bytes(path: Path, report: Report) -> bytes | None:
    """The content of a configuration file in one read, or None if there is none; problems go to `report`.

    A project file that is a symbolic link is refused: an agent could point it at a file that it cannot read
    itself, and learn its lines from the error messages. Nothing that could block (a pipe, a device) is read.
    """
    linkable = path.name != PROJECT_FILE
    try:
        handle = os.open(path, _READ if linkable else _READ | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        link = not linkable and error.errno in (errno.ELOOP, errno.EMLINK)
        report.add(0, "", "is a symbolic link" if link else f"cannot be read: {error.strerror}")
        return b""
    try:
        data, problem = _read_regular(handle)
    except OSError as error:
        data, problem = b"", f"cannot be read: {error.strerror}"
    finally:
        os.close(handle)
    if problem:
        report.add(0, "", problem)
    return data


def _read_regular(handle: int) -> tuple[bytes, str]:
    mode = os.fstat(handle).st_mode
    if stat.S_ISDIR(mode):
        return b"", "is a folder, not a file"
    if not stat.S_ISREG(mode):
        return b"", "is not a regular file"
    with open(handle, "rb", closefd=False) as file:
        data = file.read(MAX_BYTES + 1)
    return (b"", f"is larger than {human_bytes(MAX_BYTES)}") if len(data) > MAX_BYTES else (data, "")


def read_settings(data: bytes, reading: Reading) -> dict[str, Found]:
    """The settings that the bytes of a file give, by key; problems go to the report of `reading`."""
    found: dict[str, Found] = {}
    if not reading.report.problems:
        _read_table(parse_document(data, reading.report), "", reading, found)
    return found


def settings_of_table(table: Table, reading: Reading) -> dict[str, Found]:
    """The settings of a mapping, by key; problems go to the report of `reading`."""
    found: dict[str, Found] = {}
    _read_table(table, "", reading, found)
    return found


def _read_table(table: Table, prefix: str, reading: Reading, found: dict[str, Found]) -> None:
    for entry in table.entries:
        key = prefix + entry.key
        if "." in entry.key:  # a second spelling could set a value twice
            _unknown(entry, prefix, reading)
        elif key in BY_KEY:
            value = BY_KEY[key].kind.parse(entry.value, key, reading)
            if value is not None:
                found[key] = Found(value, entry.line)
        elif key in GROUPS:
            _read_group(entry, reading, found)
        else:
            _unknown(entry, prefix, reading)


def _read_group(entry: Entry, reading: Reading, found: dict[str, Found]) -> None:
    if isinstance(entry.value, Table):
        _read_table(entry.value, f"{entry.key}.", reading, found)
    elif not (isinstance(entry.value, Scalar) and entry.value.missing):  # all its lines may be commented out
        reading.wrong(entry, entry.key, f"must be a mapping of settings, not {describe(entry.value)}")


def _unknown(entry: Entry, prefix: str, reading: Reading) -> None:
    here = [key.removeprefix(prefix).partition(".")[0] for key in BY_KEY if key.startswith(prefix)]
    elsewhere = [row.key for row in BY_KEY.values() if row.group and entry.key in (row.name, row.key)]
    hint = f"known here: {', '.join(dict.fromkeys(here))}"
    if elsewhere and not prefix:
        group, _, name = elsewhere[0].partition(".")
        hint = f"write {group}: and, indented on the next line, {name}:"
    reading.wrong(entry, shorten(prefix + entry.key, SHOWN), f"unknown key{nearest(entry.key, here)}", hint)


def read_rules(path: Path, env: Mapping[str, str]) -> tuple[PolicyRule, ...]:
    """The `policy:` of a file, to try before it counts; raises ConfigError."""
    report = Report(str(path))
    data = read_bytes(path, report)
    if data is None:
        raise ConfigError(f"no file {path}")
    found = read_settings(data, Reading(report, path.absolute().parent, env)).get("policy")
    report.require_none()
    if found is None:
        raise ConfigError(f"{path} has no policy", "write rules under policy:")
    rules: tuple[PolicyRule, ...] = found.value
    return rules


def check(path: Path, env: Mapping[str, str]) -> tuple[Problem, ...]:
    """Every problem of a configuration file, in the order of its lines; a missing file is one.

    Args:
        env: for `~`, as in `load_config`.
    """
    report = Report(str(path))
    data = read_bytes(path, report)
    if data is None:
        report.add(0, "", "does not exist")
    else:
        read_settings(data, Reading(report, path.absolute().parent, env))
    return report.in_order()
