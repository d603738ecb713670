"""Entities: a core composed with stacks, plugins and a model. `Entity` is the core."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sb.entity.checkpoints import Checkpoint as Checkpoint
    from sb.entity.checkpoints import Checkpoints as Checkpoints
    from sb.entity.checkpoints import read_checkpoint as read_checkpoint
    from sb.entity.core import Entity as Entity
else:
    from sb.base.lazy import lazy_exports

    __getattr__, __all__ = lazy_exports(
        __name__,
        {
            "sb.entity.checkpoints": "Checkpoint Checkpoints read_checkpoint",
            "sb.entity.core": "Entity",
        },
    )
