"""numpy, imported when it is first used: most commands never need it, and it takes longer than the rest."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__all__ = ["np"]


class _Numpy:
    """Stands for the module; each name that was used once is found without a detour."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(importlib.import_module("numpy"), name)
        setattr(self, name, value)
        return value


if TYPE_CHECKING:
    import numpy as np
else:
    np = _Numpy()
