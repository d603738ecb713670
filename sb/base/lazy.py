"""Lazy package exports: names that import their module on first use (PEP 562)."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], list[str]]:
    """A package's `__getattr__`, which imports each name on first use, and its `__all__`.

    `lazy-loader` would do, but costs each start 5 ms for modules that it imports itself.

    Args:
        package: the package's `__name__`.
        modules: module path to the names that it defines, separated by spaces; `Name=Other` exports `Other` as `Name`.
    """
    home = {
        name: (module, real or name)
        for module, names in modules.items()
        for name, _, real in (entry.partition("=") for entry in names.split())
    }

    def __getattr__(name: str) -> Any:
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, real = home[name]
        value = getattr(importlib.import_module(module), real)
        setattr(sys.modules[package], name, value)
        return value

    return __getattr__, sorted(home, key=lambda name: (not name.isupper(), name[0].islower(), name))
