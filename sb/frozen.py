"""Frozen dataclasses whose methods are shared instead of compiled for each class.

`dataclass(frozen=True)` writes six functions and compiles them, 0.4 ms a class; a process that answers one hook makes
some seventy of such classes. An instance takes a microsecond longer, so what each call makes many of stays a plain
dataclass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a dataclass as `dataclass(frozen=True)` does; fields of instances alone and slots are not for it."""
    made = dataclass(init=False, repr=False, eq=False)(cls)
    for name, method in _METHODS.items():
        if name not in cls.__dict__:
            setattr(made, name, method)
    return made


class _Fields:
    """What instances of a class are made from and compared by."""

    def __init__(self, cls: Any) -> None:
        declared = fields(cls)
        self.names = tuple(one.name for one in declared)
        compared = [one.name for one in declared if one.compare]
        self.values: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda it: ()
        self.repeated = tuple(one.name for one in declared if one.repr)
        self.defaults = {one.name: one.default for one in declared if one.default is not MISSING}
        self.factories = {
            one.name: one.default_factory for one in declared if one.default_factory is not MISSING
        }
        self.completes = hasattr(cls, "__post_init__")


_KNOWN: dict[type, _Fields] = {}


def _fields(cls: type) -> _Fields:
    if cls not in _KNOWN:
        _KNOWN[cls] = _Fields(cls)
    return _KNOWN[cls]


def _init(self: Any, *args: Any, **values: Any) -> None:
    own, state = _fields(type(self)), self.__dict__
    if args:
        values = _named(self, own, args, values)
    for name in own.names:
        if name in values:
            state[name] = values[name]
        elif name in own.defaults:
            state[name] = own.defaults[name]
        elif name in own.factories:
            state[name] = own.factories[name]()
        else:
            raise TypeError(f"{type(self).__name__}() needs {name}")
    if not values.keys() <= state.keys():
        unknown = ", ".join(sorted(values.keys() - state.keys()))
        raise TypeError(f"{type(self).__name__}() got an unexpected keyword argument: {unknown}")
    if own.completes:
        self.__post_init__()


def _named(self: Any, own: _Fields, args: tuple[Any, ...], values: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, all by their names."""
    if len(args) > len(own.names):
        raise TypeError(f"{type(self).__name__}() takes {len(own.names)} arguments, not {len(args)}")
    named = dict(zip(own.names, args, strict=False))
    if twice := named.keys() & values.keys():
        raise TypeError(f"{type(self).__name__}() got multiple values for {', '.join(sorted(twice))}")
    return named | values


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in _fields(type(self)).repeated)
    return f"{type(self).__qualname__}({shown})"


def _eq(self: Any, other: object) -> Any:
    values = _fields(type(self)).values
    return values(self) == values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_fields(type(self)).values(self))


def _setattr(self: Any, name: str, value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to field {name!r}")


def _delattr(self: Any, name: str) -> None:
    raise FrozenInstanceError(f"cannot delete field {name!r}")


_METHODS = {
    "__init__": _init,
    "__repr__": _repr,
    "__eq__": _eq,
    "__hash__": _hash,
    "__setattr__": _setattr,
    "__delattr__": _delattr,
}
