"""Prices of models, as the configuration gives them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from sb.config.document import SHOWN, Entry, Node, Table, describe
from sb.config.kinds import Kind, Reading, number
from sb.frozen import frozen
from sb.text import nearest, shorten

_MOST = 1_000_000.0  # US dollars


@frozen
class ModelPrice:
    """US dollars for a million tokens; None where the configuration gives no price.

    Args:
        input: of prompts that no cache gave. output: of what the model writes, reasoning included.
        cache_read, cache_write: of prompts taken from a cache, and put there.
    """

    input: float | None = None
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None


_PRICE = number(0, _MOST)
_NAMES = ("input", "output", "cache_read", "cache_write")
_LABEL = "a mapping of models, by name or pattern, to prices"


def prices() -> Kind[Mapping[str, ModelPrice]]:
    """Prices by the name of a model, or a pattern of names."""

    def parse(node: Node, key: str, reading: Reading) -> Mapping[str, ModelPrice] | None:
        if not isinstance(node, Table):
            reading.wrong(node, key, f"must be {_LABEL}, not {describe(node)}")
            return None
        found = {
            entry.key: _price(entry, f"{key}.{shorten(entry.key, SHOWN)}", reading) for entry in node.entries
        }
        return MappingProxyType(found)

    return Kind(_LABEL, parse)


def _price(model: Entry, key: str, reading: Reading) -> ModelPrice:
    if not isinstance(model.value, Table):
        hint = "such as {input: 3, output: 15} in US dollars for a million tokens"
        reading.wrong(model, key, f"must be a mapping, not {describe(model.value)}", hint)
        return ModelPrice()
    given: dict[str, float] = {}
    for entry in model.value.entries:
        inner = f"{key}.{shorten(entry.key, SHOWN)}"
        if entry.key not in _NAMES:
            reading.wrong(
                entry, inner, f"unknown key{nearest(entry.key, _NAMES)}", f"one of {', '.join(_NAMES)}"
            )
        elif (value := _PRICE.parse(entry.value, inner, reading)) is not None:
            given[entry.key] = value
    return ModelPrice(**given)
