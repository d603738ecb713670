"""Render settings as an example file, a reference table, or with their current values."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from sb.base.reading import schema_of
from sb.base.text import human_bytes
from sb.config.credentials import CredentialSource
from sb.config.host_patterns import HostPattern
from sb.config.model import GROUPS, SETTINGS, Config
from sb.config.scopes import Scopes
from sb.config.setting import Setting
from sb.config.sources import FIELDS

_WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z0-9/_.]")  # what a list item begins with that YAML takes as it is


class CurrentSetting(NamedTuple):
    """One line of `sb config show`; `value` is plain JSON."""

    key: str
    value: Any
    origin: str


def current_settings(config: Config) -> tuple[CurrentSetting, ...]:
    """Every setting with its value and origin, in the order of the table."""
    return tuple(
        CurrentSetting(row.key, _plain_json(config.get(row.key)), config.origin(row.key)) for row in SETTINGS
    )


def _plain_json(value: Any) -> Any:
    if isinstance(value, Scopes):
        value = value.plain
    if isinstance(value, HostPattern | CredentialSource):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: _plain_json(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain_json(item) for item in value]
    return value if isinstance(value, bool | int | float) else str(value)


def render_example() -> str:
    """The text of config.example.yaml: every setting with its meaning and, commented out, its default."""
    lines = [
        "# The settings of SecondBrain. Copy this file to config.yaml in SB_HOME (by default ~/.sb).",
        "# Each line that begins with # and no space is a setting at its default: remove the # to change it.",
    ]
    group = ""
    for row in SETTINGS:
        lines.append("")
        if row.group and row.group != group:
            lines += [f"# {GROUPS[row.group].__doc__}", f"{row.group}:"]
        lines += _example_of(row)
        group = row.group
    return "\n".join(lines) + "\n"


def _example_of(row: Setting) -> list[str]:
    indent = "  " if row.group else ""
    comment = [*textwrap.wrap(row.about, _WIDTH - len(indent)), f"Value: {row.kind.label}."]
    if row.example:
        comment.append(f"For example: {row.name}: {row.example}")
    return [*(f"{indent}# {line}" for line in comment), f"{indent}#{row.name}: {_yaml(row.default)}"]


def _yaml(value: Any) -> str:
    plain = _plain_json(value)
    if isinstance(plain, bool):
        return str(plain).lower()
    if isinstance(plain, list):
        quoted = (item if _PLAIN.match(item) else f'"{item}"' for item in plain)
        return f"[{', '.join(quoted)}]"
    return str(plain)


def render_table() -> str:
    """The reference table of docs/reference/configuration.md, in Markdown."""
    lines = [
        "| Setting | Value | Default | An untrusted project file may set | Meaning |",
        "| --- | --- | --- | --- | --- |",
    ]
    for row in SETTINGS:
        default = f"`{_yaml(row.default)}`"
        if row.key.endswith("_bytes"):
            default += f" ({human_bytes(row.default)})"
        allowed = row.narrow.label if row.narrow else "nothing"
        cells = (f"`{row.key}`", row.kind.label, default, allowed, row.about)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def settings_schema() -> dict[str, Any]:
    """The JSON Schema of a configuration file, by which editors complete it; names and texts go in quotes there."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "The configuration of SecondBrain",
        **schema_of([*FIELDS.values()]),
        "type": ["object", "null"],  # an empty file sets nothing
    }
