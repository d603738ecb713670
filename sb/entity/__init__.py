"""What is an entity? The composition of a core with stacks, plugins and a model; `Entity` is the core."""

from sb.entity.checkpoints import Checkpoint, Checkpoints, read_checkpoint
from sb.entity.core import Entity

__all__ = ["Checkpoint", "Checkpoints", "Entity", "read_checkpoint"]
