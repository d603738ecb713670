"""Validate a record against the descriptor of its kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from reprlib import repr as short
from typing import Any

from sb.store.records.descriptor import Descriptor, Shape


def check(about: Descriptor, attributes: Mapping[str, Any]) -> None:
    """Refuse a record that holds something it cannot have.

    Args:
        attributes: its attributes.

    Raises:
        ValueError: an attribute is of another type, or outside of its words or range; the first text is empty.
    """
    for name, plain in about.plain:
        if type(attributes[name]) not in plain:
            _check_shape(name, attributes[name], about.shapes[name])
    for name, words in about.vocabulary.items():
        if attributes[name] not in words:
            raise ValueError(
                f"{name} is {short(attributes[name])}, must be one of {', '.join(sorted(words))}"
            )
    for name, least, most in about.ranges:
        if not least <= attributes[name] <= most:
            raise ValueError(f"{name} is {short(attributes[name])}, must be from {least:g} to {most:g}")
    first = attributes[about.text[0]]
    if first is None or (isinstance(first, str) and not first.strip()):
        raise ValueError(f"{about.text[0]} of this {about.kind} is empty")


def _check_shape(name: str, value: Any, shape: Shape) -> None:
    fits = isinstance(value, shape.accepted)
    if fits and shape.each is not None and value is not None:
        fits = all(isinstance(item, shape.each) for item in value)
    if not fits:
        raise ValueError(f"{name} is {short(value)}, must be {shape.label}")


def check_text(name: str, text: str) -> None:
    """Refuse text that cannot be encoded, such as half of a surrogate pair: it could neither be stored nor shown.

    Raises:
        ValueError: it cannot be encoded.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"{name} is not valid text: {error.reason} at character {error.start}") from error


def check_numbers(name: str, value: Any) -> None:
    """Refuse numbers that JSON cannot hold, at any depth.

    Raises:
        ValueError: one of them is NaN or infinite.
    """
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{name} holds {value}, must be a finite number")
    if isinstance(value, Mapping):
        value = value.values()
    elif not isinstance(value, list | tuple):
        return
    for item in value:
        check_numbers(name, item)
