"""The memory of agents: `Brain` is one agent's view of it; the records are in `sb.store`."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.memory.brain import Brain as Brain
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(__name__, {"sb.memory.brain": "Brain"})
