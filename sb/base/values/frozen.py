"""Dataclasses by one word: `frozen` and `mutable`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a dataclass as `dataclass(frozen=True)` does."""
    return dataclass(frozen=True)(_documented(cls))


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Make a class a dataclass as `dataclass` does."""
    return dataclass(_documented(cls))


def _documented(cls: type[T]) -> type[T]:
    """Give the class a docstring, without which `dataclass` writes its signature, the slowest part of making one."""
    cls.__doc__ = cls.__doc__ or cls.__name__
    return cls
