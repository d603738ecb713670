"""Checkpoints of cores: the words for their state, and the cells of their lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from sb.base.values.frozen import frozen
from sb.present.times import minute

if TYPE_CHECKING:  # a list of none needs neither
    from sb.entity import Checkpoint
    from sb.entity.composition import Difference

NONE = "-"
PRESENT = "present"  # in tables and JSON; lists of the console say `current`
CURRENT = "current"


@frozen
class CheckpointLine:
    """One checkpoint, cell by cell.

    Args:
        at: when it was saved, UTC. stacks: the active one is marked by `*`.
    """

    id: str
    at: str
    core: str
    state: str
    stacks: str
    model: str
    message: str


def state_word(found: Checkpoint | str, *, present: bool = False) -> str:
    """One word, or "".

    Args:
        found: what is in it, or why that cannot be read.
        present: whether its core is composed so now.
    """
    if isinstance(found, str):
        return "unreadable"
    if not found.intact:
        return "edited"
    return PRESENT if present else ""


def checkpoint_line(checkpoint_id: str, found: Checkpoint | str, *, present: bool = False) -> CheckpointLine:
    """A checkpoint as lists show it; arguments as of `state_word`."""
    state = state_word(found, present=present)
    if isinstance(found, str):
        return CheckpointLine(checkpoint_id, NONE, NONE, state, NONE, NONE, f"{checkpoint_id}: {found}")
    binding = found.binding
    stacks = ", ".join(f"{one}*" if one == binding.active_stack_id else one for one in binding.stacks)
    model = str(binding.model_config.get("model_id", "none"))
    return CheckpointLine(
        checkpoint_id,
        minute(found.created_at),
        binding.core_id,
        state,
        stacks or "none",
        model,
        found.message,
    )


def change_lines(changes: Iterable[Difference]) -> list[str]:
    """The changes of restoring it, a line for each part."""
    return [f"{one.part}: {one.before or 'not there'} → {one.after or 'not there'}" for one in changes]
