"""Register the components of a stack and call their hooks; failures are logged and contained.

Source: the stack protocol, "Component registry" and "Component hooks".
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

from sb.base.text import with_article
from sb.base.values.canonical import NotCanonical, canonical_bytes
from sb.protocols import InferenceService, StackComponentProtocol
from sb.protocols.types import SearchResult

logger = logging.getLogger("sb.stack")
Hook = TypeVar("Hook", bound=Callable[..., Any])


_NO_OP = object()  # told by identity: other parties' components may have any attributes


def no_op(hook: Hook) -> Hook:
    """Mark a hook that does nothing, so that no stack calls it for every record."""
    vars(hook)["no_op"] = _NO_OP
    return hook


class Components:
    """The components of one stack, in the order in which they were registered."""

    def __init__(self, stack_id: str, storage: Any) -> None:
        self._stack_id = stack_id
        self._storage = storage
        self._inference: InferenceService | None = None
        self._all: dict[str, StackComponentProtocol] = {}

    def add(self, component: StackComponentProtocol) -> None:
        """Register a component.

        Raises:
            ValueError: there is one of that name.
        """
        name = component.name
        if name in self._all:
            raise ValueError(f"component {name!r} is already registered")
        self._all[name] = component
        self._asked(component, "attach", self._stack_id, self._inference)
        if hasattr(component, "set_storage"):
            self._asked(component, "set_storage", self._storage)

    def remove(self, name: str) -> None:
        """Detach a component and drop it.

        Raises:
            ValueError: there is none of that name, or it is required.
        """
        component = self._all.get(name)
        if component is None:
            raise ValueError(f"no component {name!r}: there are {', '.join(self._all) or 'none'}")
        if component.required:
            raise ValueError(f"Cannot remove required component {name!r}")
        del self._all[name]
        self._asked(component, "detach")

    def get(self, name: str) -> StackComponentProtocol | None:
        return self._all.get(name)

    def all(self) -> dict[str, StackComponentProtocol]:
        """All of them by name, as a copy."""
        return dict(self._all)

    def searching(self) -> dict[str, StackComponentProtocol]:
        """Returns the components that may change search results."""
        return self._with("on_search")

    def _with(self, hook: str) -> dict[str, StackComponentProtocol]:
        """All components except those whose hook is marked `no_op`."""
        return {
            name: component
            for name, component in self._all.items()
            if getattr(getattr(component, hook, None), "no_op", None) is not _NO_OP
        }

    def described(self) -> list[str | dict[str, Any]]:
        """Describes each component by name and, where it has some, arguments."""
        return [self._made_by(component) for component in list(self._all.values())]

    def _made_by(self, component: StackComponentProtocol) -> str | dict[str, Any]:
        arguments = self._asked(component, "arguments") if hasattr(component, "arguments") else None
        if not isinstance(arguments, dict) or not arguments:
            return component.name
        try:
            canonical_bytes(arguments)
        except NotCanonical as error:
            self.failed(component.name, "arguments", error)
            return component.name
        return {"name": component.name, "arguments": arguments}

    def use(self, inference: InferenceService | None) -> None:
        """Sets the inference of all components, or none."""
        self._inference = inference
        for component in list(self._all.values()):
            self._asked(component, "set_inference", inference)

    def on_save(self, kind: str, records: Iterable[Any]) -> Iterator[tuple[Any, str, dict[str, Any]]]:
        """Yields the attributes that components set for saved records, with record and component name."""
        asked = self._with("on_save")
        for record in records:
            for name, component in asked.items():
                attributes = self._asked(component, "on_save", kind, record.id, record)
                if isinstance(attributes, dict) and attributes:
                    yield record, name, attributes

    def on_search(self, query: str, results: list[Any]) -> list[Any]:
        """The results once each of them was asked, in turn."""
        for name, component in self.searching().items():
            answer = self._asked(component, "on_search", query, list(results))
            if isinstance(answer, list) and all(isinstance(item, SearchResult) for item in answer):
                results = answer
            elif answer is not None:
                self.failed(name, "on_search", TypeError("it returned no list of results"))
        return results

    def on_load(self, context: dict[str, Any]) -> None:
        """Lets each component add to the loaded context."""
        for component in list(self._all.values()):
            self._asked(component, "on_load", context)

    def on_maintenance(self) -> dict[str, dict[str, Any]]:
        """Runs maintenance; returns the report of each component by name, `{"error": …}` of one that failed."""
        done: dict[str, dict[str, Any]] = {}
        for name, component in list(self._all.items()):
            failures: list[Exception] = []
            report = self._asked(component, "on_maintenance", also=failures.append)
            if failures:
                done[name] = {"error": _described(failures[0])}
            elif report and not isinstance(report, dict):
                done[name] = {"error": f"TypeError: it returned {with_article(type(report).__name__)}"}
            elif report:
                done[name] = report
        return done

    def _asked(
        self,
        component: StackComponentProtocol,
        hook: str,
        *arguments: Any,
        also: Callable[[Exception], object] | None = None,
    ) -> Any:
        """Calls a hook; returns None if it fails or does not exist."""
        try:
            return getattr(component, hook)(*arguments)
        except Exception as error:  # noqa: BLE001 - whatever a component raises is its own failure
            self.failed(component.name, hook, error)
            if also is not None:
                also(error)
            return None

    def failed(self, name: str, hook: str, error: Exception) -> None:
        """Say in the log that a component failed; the operation goes on."""
        logger.warning(
            "component %s failed in %s: %s",
            name,
            hook,
            type(error).__name__,
            extra={"component": name, "hook": hook, "error_type": type(error).__name__},
        )


def _described(error: Exception) -> str:
    """Describes an exception, as far as it can be formatted."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:  # noqa: BLE001 - an exception that cannot say what it is is one more failure of the component
        return type(error).__name__
