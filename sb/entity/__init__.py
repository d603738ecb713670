"""What is an entity? The composition of a core with stacks, plugins and a model; `Entity` is the core."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.entity.checkpoints import Checkpoint, Checkpoints, read_checkpoint
    from sb.entity.core import Entity
else:
    from sb.lazy import lazy_exports

    __getattr__ = lazy_exports(
        __name__,
        {
            "sb.entity.checkpoints": ("Checkpoint", "Checkpoints", "read_checkpoint"),
            "sb.entity.core": ("Entity",),
        },
    )

__all__ = ["Checkpoint", "Checkpoints", "Entity", "read_checkpoint"]
