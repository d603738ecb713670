"""Dataclasses, frozen and mutable, whose methods are shared instead of compiled for each class.

`dataclass(frozen=True)` writes six functions and compiles them, 0.4 ms a class; a process that answers one hook makes
some seventy of such classes, and a harness audit three hundred. An instance takes a microsecond longer, so a class
that has made many gets an `__init__` of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from operator import attrgetter
from typing import Any, TypeVar, dataclass_transform

T = TypeVar("T")
MANY = 100  # instances, after which compiling an __init__ (0.1 ms) has paid


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class a dataclass as `dataclass(frozen=True)` does.

    Not for slots, and not for fields that are left out of `__init__`.
    """
    return _dataclass(cls, _METHODS | _FROZEN)


@dataclass_transform(field_specifiers=(field,))
def mutable(cls: type[T]) -> type[T]:
    """Make a class a dataclass as `dataclass` does; not for what `frozen` is not for.

    An instance is filled without its `__setattr__`, if it has one.
    """
    return _dataclass(cls, _METHODS | _MUTABLE)


def _dataclass(cls: type[T], methods: dict[str, Any]) -> type[T]:
    cls.__doc__ = (
        cls.__doc__ or cls.__name__
    )  # else the signature is looked up, which takes longer than the rest
    made = dataclass(init=False, repr=False, eq=False)(cls)
    for name, method in methods.items():
        if cls.__dict__.get(name) is None:  # an own __eq__ leaves a __hash__ of None
            setattr(made, name, method)
    return made


class _Fields:
    """Fields by which instances of a class are made and compared."""

    def __init__(self, cls: Any) -> None:
        declared = fields(cls)
        self.names = tuple(item.name for item in declared)
        self.positional = tuple(item.name for item in declared if not item.kw_only)
        compared = [item.name for item in declared if item.compare]
        self.values: Callable[[Any], Any] = attrgetter(*compared) if compared else lambda it: ()
        self.repeated = tuple(item.name for item in declared if item.repr)
        self.defaults = {item.name: item.default for item in declared if item.default is not MISSING}
        self.factories = {
            item.name: item.default_factory for item in declared if item.default_factory is not MISSING
        }
        self.completes = hasattr(cls, "__post_init__")
        self.instances = 0

    def compiled_init(self) -> Any:
        """An `__init__` for these fields alone."""
        given: dict[str, Any] = {"_MISSING": MISSING}
        head, by_keyword = ["self"], ["*"]
        body = ["_own_ = self.__dict__"]  # a field may be called anything else
        for name in self.names:
            value = parameter = name
            if name in self.defaults:
                given[f"_default_{name}"] = self.defaults[name]
                parameter += f"=_default_{name}"
            elif name in self.factories:
                given[f"_make_{name}"] = self.factories[name]
                parameter += "=_MISSING"
                value = f"_make_{name}() if {name} is _MISSING else {name}"
            (head if name in self.positional else by_keyword).append(parameter)
            body.append(f"_own_[{name!r}] = {value}")
        if self.completes:
            body.append("self.__post_init__()")
        head += by_keyword if len(by_keyword) > 1 else ()
        exec(f"def __init__({', '.join(head)}):\n " + "\n ".join(body), given)
        return given["__init__"]


_KNOWN: dict[type, _Fields] = {}


def _fields(cls: type) -> _Fields:
    if cls not in _KNOWN:
        _KNOWN[cls] = _Fields(cls)
    return _KNOWN[cls]


def _init(self: Any, *args: Any, **values: Any) -> None:
    cls = type(self)
    own, state = _fields(cls), self.__dict__
    own.instances += 1
    if own.instances == MANY and cls.__init__ is _init:
        cls.__init__ = own.compiled_init()
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
    if len(args) > len(own.positional):
        raise TypeError(f"{type(self).__name__}() takes {len(own.positional)} arguments, not {len(args)}")
    named = dict(zip(own.positional, args, strict=False))
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


_METHODS = {"__init__": _init, "__repr__": _repr, "__eq__": _eq}
_FROZEN = {"__hash__": _hash, "__setattr__": _setattr, "__delattr__": _delattr}
_MUTABLE = {"__hash__": None}
