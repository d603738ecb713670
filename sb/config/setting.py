"""Declare one setting: default, type, meaning, narrowing.

A setting is one field of a frozen dataclass (see `sb.config.model`): its row of the table travels in the
field's metadata, so that the typed attribute, validation, the example file and the reference have one source.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, fields, is_dataclass, replace
from typing import Any, TypeVar

from sb.base.reading import Field, Kind
from sb.base.values.frozen import frozen
from sb.config.narrowing import Narrow

T = TypeVar("T")


@frozen
class Setting(Field):
    """One row of the table: a field with a default, which `name` calls in its group.

    Args:
        group: the group's name with dots, or "".
        narrow: how an untrusted project file may tighten it; None: it may not touch it.
        within: how anybody may tighten what the organization sets, where that is more than `narrow` allows.
        env: the environment variable that sets it, or "".
        flag: the command-line flag that sets it, or "".
        example: a value in YAML, where the default shows too little.
    """

    group: str = ""
    narrow: Narrow[Any] | None = None
    env: str = ""
    flag: str = ""
    example: str = ""
    within: Narrow[Any] | None = None

    @property
    def key(self) -> str:
        """The name with that of its group, as in `budget.max_tool_calls`."""
        return f"{self.group}.{self.name}" if self.group else self.name


def setting(default: T, kind: Kind[T], about: str, **more: Any) -> T:
    """Declare a field as a setting.

    Args:
        more: other arguments of `Setting`.
    """
    row = Setting("", kind, about, default=default, **more)
    return field(default_factory=lambda: default, metadata={"setting": row})


def groups_of(cls: type) -> dict[str, type]:
    """The groups of settings that a dataclass declares, by name: the fields that another dataclass makes."""
    makers: list[tuple[str, object]] = [(declared.name, declared.default_factory) for declared in fields(cls)]
    return {name: maker for name, maker in makers if isinstance(maker, type) and is_dataclass(maker)}


def settings_of(cls: type, group: str = "") -> Iterator[Setting]:
    """The settings that a dataclass declares, groups included, in their order."""
    groups = groups_of(cls)
    for declared in fields(cls):
        if declared.name in groups:
            yield from settings_of(groups[declared.name], declared.name)
        elif "setting" in declared.metadata:
            yield replace(declared.metadata["setting"], name=declared.name, group=group)
