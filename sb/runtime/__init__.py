"""The composition root: every face, and the harness audit, opens this, or one of its parts alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.runtime.opening import Runtime as Runtime
    from sb.runtime.opening import create_home as create_home
    from sb.runtime.opening import open_runtime as open_runtime
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(__name__, {"sb.runtime.opening": "Runtime create_home open_runtime"})
