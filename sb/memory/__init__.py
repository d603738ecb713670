"""What does an agent remember? `Brain` is its view of the memory; the records are in `sb.store`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.memory.brain import Brain
else:
    from sb.lazy import lazy_exports

    __getattr__ = lazy_exports(__name__, {"sb.memory.brain": ("Brain",)})

__all__ = ["Brain"]
