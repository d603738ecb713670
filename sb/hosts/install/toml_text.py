"""Edit TOML as text; comments and order stay.

tomlkit edits; the standard library's reader, which is another program, has to find in the result exactly what was
asked for. Where the two do not agree (a table inline in another one, say), nothing is written.
"""

from __future__ import annotations

import copy
import re
import tomllib
from typing import Any

from sb.hosts.install.documents import Malformed, Path, find

_KINDS = {str: "a table", int: "a list"}
_LINE = re.compile(r"\(at line (\d+),")


class TomlText:
    """TOML."""

    def load(self, text: str) -> Any:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            place = _LINE.search(str(error))
            raise Malformed(int(place[1]) if place else 0, str(error)) from None

    def insert(self, text: str, path: Path, value: Any) -> str:
        expected = self.load(text)
        parent, depth = expected, 0
        while isinstance(parent, dict) and path[depth] in parent and depth < len(path) - 1:
            parent, depth = parent[path[depth]], depth + 1
        step, nested = path[depth], value
        if not isinstance(parent, dict if isinstance(step, str) else list):
            raise Malformed(0, f"{'.'.join(map(str, path[:depth]))} is not {_KINDS[type(step)]}")
        for key in reversed(path[depth + 1 :]):
            nested = [nested] if isinstance(key, int) else {key: nested}
        _put(parent, step, copy.deepcopy(nested))
        return self._edited(text, expected, lambda whole: _add(_at(whole, path[:depth]), step, nested))

    def replace(self, text: str, path: Path, value: Any) -> str:
        expected = self.load(text)
        find(expected, path[:-1])[path[-1]] = value
        return self._edited(text, expected, lambda whole: _fill(_at(whole, path), value))

    def remove(self, text: str, path: Path) -> str:
        expected = self.load(text)
        del find(expected, path[:-1])[path[-1]]
        return self._edited(text, expected, lambda whole: _delete(_at(whole, path[:-1]), path[-1]))

    def as_in(self, text: str, path: Path, source: str) -> str:
        return text  # an empty table or list has one spelling that matters

    def _edited(self, text: str, expected: Any, change: Any) -> str:
        import tomlkit
        from tomlkit.exceptions import TOMLKitError

        try:
            document = tomlkit.parse(text)
            change(document)
            result = document.as_string()
            agreed = _filled(tomllib.loads(result)) == _filled(expected)
        except (TOMLKitError, tomllib.TOMLDecodeError, TypeError, ValueError, KeyError):
            agreed = False
        if not agreed:
            raise Malformed(0, "its hooks cannot be edited safely as they are written")
        return result


def _at(document: Any, path: Path) -> Any:
    for step in path:
        document = document[step]
    return document


def _put(container: Any, step: str | int, value: Any) -> None:
    if isinstance(step, int):
        container.append(value)
    else:
        container[step] = value


def _add(container: Any, step: str | int, value: Any) -> None:
    from tomlkit.items import Array

    _put(container, step, value if isinstance(container, Array) else _item(value))


def _fill(table: Any, value: Any) -> None:
    """Give a table other content without moving it."""
    for key in [key for key in table if key not in value]:
        del table[key]
    for key, part in value.items():
        if table.get(key) != part:
            table[key] = _item(part)


def _delete(container: Any, step: str | int) -> None:
    del container[step]


def _filled(value: Any) -> Any:
    """The value without what is empty in it: TOML cannot say an empty list of tables."""
    if isinstance(value, dict):
        return {key: part for key, inner in value.items() if (part := _filled(inner)) not in ({}, [])}
    return [_filled(part) for part in value] if isinstance(value, list) else value


def _item(value: Any) -> Any:
    """A list of tables in the spelling with double brackets, and whatever else as tomlkit spells it."""
    import tomlkit

    if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
        tables = tomlkit.aot()
        for part in value:
            tables.append(_item(part))
        return tables
    if isinstance(value, dict):
        table = tomlkit.table()
        for key, part in value.items():
            table.add(key, _item(part))
        return table
    return value
