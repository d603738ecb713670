"""Loads a provider from the user's plugins, as the guide describes it."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any


class _Context:
    provider: Any = None

    def register_memory_provider(self, provider: Any) -> None:
        self.provider = provider


def load_memory_provider(name: str) -> Any:
    folder = Path(os.environ["HERMES_HOME"]) / "plugins" / name
    where = [str(folder)]
    spec = importlib.util.spec_from_file_location(
        f"user_{name}", folder / "__init__.py", submodule_search_locations=where
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    context = _Context()
    module.register(context)
    return context.provider
