"""Convert a mapping of a decision file to typed values; errors name file and key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sb.errors import ConfigError
from sb.text import nearest

_NAMES = {bool: "true or false", int: "a whole number", str: "text", list: "a list", dict: "a mapping"}


def _type_name(value: object) -> str:
    return _NAMES.get(type(value), type(value).__name__)


class Table:
    """One mapping, whose values are read by type.

    Args:
        where: the file's name.
        path: the keys that lead to this mapping, such as ``body.slots[0]``; "" for the document itself.

    Raises:
        ConfigError: not a mapping, an unknown key (with the nearest known one), or a required key is missing.
    """

    def __init__(
        self, value: object, where: str, path: str, *, required: Iterable[str], optional: Iterable[str] = ()
    ) -> None:
        self.where = where
        self.path = path
        if not isinstance(value, Mapping):
            raise ConfigError(f"{where}: {path or 'the file'} must be a mapping, not {_type_name(value)}")
        self._values = value
        required = tuple(required)
        known = (*required, *optional)
        for key in value:
            if key not in known:
                raise ConfigError(f'{where}: unknown key "{self.at(key)}"{nearest(key, known)}')
        for key in required:
            if key not in value:
                raise ConfigError(f'{where}: the key "{self.at(key)}" is missing')

    def at(self, key: str) -> str:
        """The key with the path that leads to it."""
        return f"{self.path}.{key}" if self.path else key

    def __contains__(self, key: object) -> bool:
        return key in self._values

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def refuse(self, key: str, problem: str, hint: str = "") -> ConfigError:
        """The error to raise for the value of a key."""
        return ConfigError(f'{self.where}: "{self.at(key)}" {problem}', hint)

    def _typed(self, key: str, wanted: type) -> Any:
        value = self._values[key]
        if type(value) is not wanted:  # isinstance would take true for a whole number
            raise self.refuse(key, f"must be {_NAMES[wanted]}, not {_type_name(value)}")
        return value

    def text(self, key: str) -> str:
        """Text that is not blank."""
        value: str = self._typed(key, str)
        if not value.strip():
            raise self.refuse(key, "must not be blank")
        return value

    def integer(self, key: str, low: int, high: int) -> int:
        """A whole number from `low` to `high`, both included."""
        value: int = self._typed(key, int)
        if not low <= value <= high:
            raise self.refuse(key, f"is {value}, must be {low} to {high}")
        return value

    def flag(self, key: str) -> bool:
        """True or false; false when the key is absent."""
        return bool(self._typed(key, bool)) if key in self else False

    def items(self, key: str) -> list[Any]:
        """A list with at least one item."""
        value: list[Any] = self._typed(key, list)
        if not value:
            raise self.refuse(key, "must not be empty")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of texts, none of them blank."""
        values = self.items(key)
        for position, value in enumerate(values):
            if type(value) is not str:
                raise self.refuse(f"{key}[{position}]", f"must be text, not {_type_name(value)}")
            if not value.strip():
                raise self.refuse(f"{key}[{position}]", "must not be blank")
        return tuple(values)
