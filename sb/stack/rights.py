"""What the cores of a stack may read of its records: grants and consent, and masks in the place of personal data."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import orjson

from sb.config.memory import Memory as Settings
from sb.memory.consent import refusal, withheld_from
from sb.memory.personal_data import APART, may_read
from sb.memory.personal_values import masked
from sb.store.database import Database
from sb.store.records.columns import Row

_NAMES = APART | {"source_entity"}


class ReadRights:
    """The rights of whoever is attached: of several, what all of them may; without any, an operator looks.

    Args:
        cores: the attached ones, as they are by then.
    """

    def __init__(self, database: Database, settings: Settings, cores: Collection[str]) -> None:
        self._database, self._settings, self._cores = database, settings, cores

    def refusal(self, row: Row) -> str:
        """Why some core may not read a record; "" if all may."""
        return next(filter(None, (refusal(row, core) for core in self._cores)), "")

    def left_out(self, places: Sequence[int]) -> tuple[str, tuple[Any, ...]]:
        """The records in these places that are not to be read, as a condition over `r`; "" for none."""
        hidden = withheld_from(self._database, places, self._cores) if self._cores else []
        listed = "r.id IN (SELECT value FROM json_each(?))"
        return (listed, (orjson.dumps(hidden).decode(),)) if hidden else ("", ())

    @property
    def masks(self) -> bool:
        """Whether personal data is masked for some core."""
        return not all(may_read(self._settings, core) for core in self._cores)

    def masked_copy(self, record: Any) -> Any:
        """A record as it is read: a copy without personal data where that is masked for some core."""
        if not self.masks:
            return record
        texts = _texts(record)
        changes = dict(zip(texts, masked(list(texts.values())), strict=True))
        return dataclasses.replace(record, **changes) if changes != texts else record

    def restored(self, record: Any, before: Any) -> Any:
        """A record as it is to be written: a mask that was read and comes back stands for what it was put over.

        Args:
            before: the record as it is kept.
        """
        if not self.masks:
            return record
        said, shown, kept = vars(record), vars(self.masked_copy(before)), vars(before)
        changes = {
            name: _unmasked(said[name], shown[name], kept[name])
            for name in kept.keys() & said.keys() - _NAMES
            if shown[name] != kept[name]
        }
        return dataclasses.replace(record, **changes) if changes else record


def _texts(record: Any) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(record).items()
        if name not in _NAMES and isinstance(value, str | list | tuple | dict)
    }


def _unmasked(said: Any, shown: Any, kept: Any) -> Any:
    if said == shown:
        return kept
    if isinstance(said, str) and isinstance(shown, str) and shown and said.startswith(shown):
        return kept + said[len(shown) :]
    if isinstance(said, list) and isinstance(shown, list):
        known = {orjson.dumps(mask): value for mask, value in zip(shown, kept, strict=True)}
        return [known.get(orjson.dumps(one), one) for one in said]
    return said
