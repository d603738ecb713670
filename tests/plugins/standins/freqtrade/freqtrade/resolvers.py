"""Finds a strategy by the name of its class in the user's folder, which is on the path meanwhile."""

from __future__ import annotations

import importlib
import sys
from typing import Any


class StrategyResolver:
    """Finds strategies."""

    @staticmethod
    def load_strategy(config: dict[str, Any]) -> Any:
        folder = config["user_data_dir"] / "strategies"
        sys.path.insert(0, str(folder))
        for file in folder.glob("*.py"):
            module = importlib.import_module(file.stem)
            found = getattr(module, config["strategy"], None)
            if found is not None:
                return found(config)
        raise LookupError(config["strategy"])
