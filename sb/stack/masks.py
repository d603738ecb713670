"""Masks in the place of personal data in the records of a stack, put on when they are read and taken off when they return."""

from __future__ import annotations

import dataclasses
from typing import Any

import orjson

from sb.memory.personal_data import APART
from sb.memory.personal_values import masked
from sb.memory.reader import Reader

_NAMES = APART | {"source_entity"}


class Masks:
    """The masks of whoever is attached.

    Args:
        reader: says whether there are any.
    """

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def copy(self, record: Any) -> Any:
        """A record as it is read: a copy without personal data where that is masked for some core."""
        if not self._reader.masks:
            return record
        texts = _texts(record)
        changes = dict(zip(texts, masked(list(texts.values())), strict=True))
        return dataclasses.replace(record, **changes) if changes != texts else record

    def restored(self, record: Any, before: Any) -> Any:
        """A record as it is to be written: a mask that was read and comes back stands for what it was put over.

        Args:
            before: the record as it is kept.
        """
        if not self._reader.masks:
            return record
        incoming, shown, stored = vars(record), vars(self.copy(before)), vars(before)
        changes = {
            name: _unmasked(incoming[name], shown[name], stored[name])
            for name in stored.keys() & incoming.keys() - _NAMES
            if shown[name] != stored[name]
        }
        return dataclasses.replace(record, **changes) if changes else record


def _texts(record: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(record).items()
        if name not in _NAMES and isinstance(value, str | list | tuple | dict)
    }


def _unmasked(incoming: Any, shown: Any, stored: Any) -> Any:
    if incoming == shown:
        return stored
    if isinstance(incoming, str) and isinstance(shown, str) and shown and incoming.startswith(shown):
        return stored + incoming[len(shown) :]
    if isinstance(incoming, list) and isinstance(shown, list):
        known = {orjson.dumps(mask): value for mask, value in zip(shown, stored, strict=True)}
        return [known.get(orjson.dumps(item), item) for item in incoming]
    return incoming
