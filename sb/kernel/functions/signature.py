"""Derive a contract from a Python function's signature, annotations and docstring."""

from __future__ import annotations

import inspect
import re
import sys
import typing
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from sb.base.values.frozen import frozen
from sb.errors import ContractError
from sb.kernel.contracts import SafetyClass, ToolArgSchema, ToolResult, ToolReturnSchema, ToolSpec
from sb.kernel.functions.values import json_type, rebuilt, to_json
from sb.kernel.registry.registry import IDEMPOTENCY_KEY

_BOUND = ("self", "cls")  # what Python passes to a method
_NOT_IN_IDS = re.compile(r"[^a-z0-9_.-]+")


@frozen
class FunctionSignature:
    """The parameters of one function.

    Args:
        whole: as the function has them.
        shown: as callers see them: without the key that only the kernel passes.
        annotations: those that go on record, by name.
        returns: the annotation of what it returns.
    """

    whole: inspect.Signature
    shown: inspect.Signature
    annotations: Mapping[str, Any]
    returns: Any

    @cached_property
    def recorded(self) -> inspect.Signature:
        """The signature for the kernel: the recorded parameters and its key, by keyword."""
        names = [*self.annotations, IDEMPOTENCY_KEY]
        passed = [self.whole.parameters[name] for name in names if name in self.whole.parameters]
        by_keyword = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in passed]
        return self.whole.replace(parameters=by_keyword)

    def split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """A call's arguments that go on record, defaults included, and those that are passed on beside it.

        Raises:
            TypeError: the function does not take them.
        """
        bound = self.shown.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        on_record = {name: to_json(given[name]) for name in given if name in self.annotations}
        return on_record, {name: given[name] for name in given if name not in self.annotations}

    def join(self, recorded: dict[str, Any], beside: dict[str, Any]) -> inspect.BoundArguments:
        """The arguments for the function; raises ValueError if a recorded value does not fit its annotation."""
        key = {name: recorded[name] for name in recorded if name == IDEMPOTENCY_KEY}
        values = {name: recorded[name] for name in recorded if name != IDEMPOTENCY_KEY}
        made = {**rebuilt(self.annotations, values), **beside, **key}
        in_order = {name: made[name] for name in self.whole.parameters if name in made}
        return inspect.BoundArguments(self.whole, in_order)


def signature_of(fn: Callable[..., Any], injected: Collection[str] = ()) -> FunctionSignature:
    """Read a function's parameters.

    Args:
        injected: parameters that do not go on record.

    Raises:
        ContractError: it has something that a contract cannot say.
    """
    whole = inspect.signature(fn)
    for name in injected:
        if name not in whole.parameters:
            raise ContractError(f"{fn.__qualname__} has no parameter {name!r}")
    try:
        hints = typing.get_type_hints(fn, include_extras=True)
    except NameError as error:
        hint = "annotations of a governed function are read when it is decorated: import what they name"
        raise ContractError(f"{fn.__qualname__}: {error}", hint) from None
    annotations: dict[str, Any] = {}
    for place, (name, parameter) in enumerate(whole.parameters.items()):
        if name in injected or name == IDEMPOTENCY_KEY or (place == 0 and name in _BOUND):
            continue
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ContractError(
                f"{fn.__qualname__} takes {parameter}: a contract names each argument",
                "name the parameters; one that takes a dict can hold the rest",
            )
        annotations[name] = _checked(fn, name, hints.get(name, Any))
    left = [item for name, item in whole.parameters.items() if name != IDEMPOTENCY_KEY]
    returns = hints.get("return", Any)
    _checked(fn, "return", returns)
    return FunctionSignature(whole, whole.replace(parameters=left), annotations, returns)


def _checked(fn: Callable[..., Any], name: str, annotation: Any) -> Any:
    if annotation is ToolResult:
        hint = "return the data, and raise ToolError to say why there is none"
        raise ContractError(
            f"{fn.__qualname__} returns a ToolResult, and its callers would get the data", hint
        )
    try:
        json_type(annotation)
    except ContractError as error:
        what = "what it returns" if name == "return" else f"parameter {name!r}"
        hint = "use JSON's types, dates, enums, dataclasses or pydantic models"
        if name != "return":
            hint += f'; if it does not come from the model, injected=("{name}",) leaves it off the record'
        raise ContractError(f"{fn.__qualname__}: {what}: {error.message}; {hint}") from None
    return annotation


def spec_of(
    fn: Callable[..., Any],
    signature: FunctionSignature,
    safety_class: SafetyClass,
    sensitive: Collection[str] = (),
    **contract: Any,
) -> ToolSpec:
    """The contract of a function.

    Args:
        sensitive: the parameters whose values are never shown.
        contract: other fields of ToolSpec; they replace what is read off the function.

    Raises:
        ContractError: a sensitive parameter does not exist or is not recorded, or a field is outside its range.
    """
    for name in sensitive:
        if name not in signature.annotations:
            raise ContractError(f"{fn.__qualname__} has no parameter {name!r} that goes on record")
    read: dict[str, Any] = {
        "tool_id": default_tool_id(fn),
        "name": fn.__name__.strip("_").replace("_", " ").capitalize(),
        "description": inspect.getdoc(fn) or "",
        "args_schema": [
            ToolArgSchema(
                name,
                _type_with_default(annotation, signature.whole.parameters[name].default),
                signature.whole.parameters[name].default is inspect.Parameter.empty,
                _description(annotation),
                name in sensitive,
            )
            for name, annotation in signature.annotations.items()
        ],
        "returns_schema": ToolReturnSchema(json_type(signature.returns)),
        "max_retries": 0,  # who calls a function expects one call of it
    }
    return ToolSpec(safety_class=safety_class, **(read | contract))


def default_tool_id(fn: Callable[..., Any]) -> str:
    """Module and name; of a program that is run as a file, the file's name."""
    module = fn.__module__ or "python"
    if module == "__main__":
        file = getattr(sys.modules["__main__"], "__file__", None)
        module = Path(file).stem if file else "main"
    dotted = f"{module}.{fn.__qualname__}".replace(".<locals>", "").lower()
    return _NOT_IN_IDS.sub("_", dotted).lstrip("0123456789_.-")


def _type_with_default(annotation: Any, default: Any) -> str:
    """Its type, or any if its default is none of that: None is a common one."""
    kind = json_type(annotation)
    return "any" if default is None and kind != "null" else kind


def _description(annotation: Any) -> str:
    """The description in `Annotated[T, "text"]`, or of an object with one; "" without."""
    for arg in typing.get_args(annotation)[1:] if typing.get_origin(annotation) is typing.Annotated else ():
        text = arg if isinstance(arg, str) else getattr(arg, "description", None)
        if isinstance(text, str):
            return text
    return ""
