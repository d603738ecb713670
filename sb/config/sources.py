"""Find and read configuration files, and check them against the table of settings."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sb.base.located import LocatedMapping, Word
from sb.base.reading import Field, Kind, Place, Problem, Report, describe, known_fields, schema_of
from sb.base.repository import git_root
from sb.base.text import human_bytes
from sb.config.document import parse_document
from sb.config.home import Home
from sb.config.memory import MOVED
from sb.config.model import GROUPS, SETTINGS, moved
from sb.config.rules import PolicyRule
from sb.errors import ConfigError

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
        data, problem = read_regular(handle)
    except OSError as error:
        data, problem = b"", f"cannot be read: {error.strerror}"
    finally:
        os.close(handle)
    if problem:
        report.add(0, "", problem)
    return data


def read_regular(handle: int) -> tuple[bytes, str]:
    """The bytes of an open file, and what is wrong if it is not a file of at most `MAX_BYTES`; raises OSError."""
    mode = os.fstat(handle).st_mode
    if stat.S_ISDIR(mode):
        return b"", "is a folder, not a file"
    if not stat.S_ISREG(mode):
        return b"", "is not a regular file"
    with open(handle, "rb", closefd=False) as file:
        data = file.read(MAX_BYTES + 1)
    return (b"", f"is larger than {human_bytes(MAX_BYTES)}") if len(data) > MAX_BYTES else (data, "")


def read_settings(data: bytes, report: Report) -> dict[str, Found]:
    """The settings that the bytes of a file give, by key; problems go to the report."""
    table = LocatedMapping() if report.problems else parse_document(data, report)
    return read_table(table, Place(report))


def read_table(table: Any, place: Place) -> dict[str, Found]:
    """The settings of a mapping by key, groups included; problems go to the report of its place."""
    found: dict[str, Found] = {}
    for field, value, at in known_fields(table, FIELDS, place, _known):
        found |= value if field.name in GROUPS else {field.name: Found(value, at.line)}
    return found


def _refuse_former(value: Any, place: Place) -> None:
    raise place.refuse(*moved(place.key))


_FORMER = Field("", Kind(_refuse_former, {}))


def _group(name: str) -> Field:
    """The field of a group, whose value is the settings in it by key."""
    fields = {row.name: row for row in SETTINGS if row.group == name}
    former = {key.removeprefix(f"{name}."): _FORMER for key in MOVED if key.startswith(f"{name}.")}

    def read(value: Any, place: Place) -> dict[str, Found]:
        if isinstance(value, Word) and value.missing:  # all its lines may be commented out
            return {}
        if not isinstance(value, Mapping):
            raise place.refuse(f"must be a mapping of settings, not {describe(value)}")
        given = known_fields(value, fields | former, place)
        return {f"{name}.{field.name}": Found(inner, at.line) for field, inner, at in given}

    schema = schema_of([*fields.values()]) | {"type": ["object", "null"]}
    return Field(name, Kind(read, schema), GROUPS[name].__doc__ or "")


FIELDS: Mapping[str, Field] = {
    **{row.name: row for row in SETTINGS if not row.group},
    **{name: _group(name) for name in GROUPS},
}


def _known(key: str) -> str:
    """The hint for an unknown key: write it in its group, or use a known one."""
    # With a dot it would be a second spelling, which could set a value twice.
    for row in SETTINGS:
        if row.group and key in (row.name, row.key):
            return f"write {row.group}: and, indented on the next line, {row.name}:"
    return f"known here: {', '.join(FIELDS)}"


def read_rules(path: Path, env: Mapping[str, str]) -> tuple[PolicyRule, ...]:
    """The `policy:` of a file, to try before it counts; raises ConfigError."""
    report = Report(str(path), path.absolute().parent, env)
    data = read_bytes(path, report)
    if data is None:
        raise ConfigError(f"no file {path}")
    found = read_settings(data, report).get("policy")
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
    report = Report(str(path), path.absolute().parent, env)
    data = read_bytes(path, report)
    if data is None:
        report.add(0, "", "does not exist")
    else:
        read_settings(data, report)
    return report.in_order()
