"""Checkpoints of cores: the words for their state, and the cells of their lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from sb.base.sources import micros
from sb.base.text import counted
from sb.base.values.frozen import frozen
from sb.present.kind import Cell, Column, Field, Kind, plain_json, time_cell
from sb.present.states import SOFT, state
from sb.present.times import ago, minute

if TYPE_CHECKING:  # a list of none needs neither
    from sb.entity import Checkpoint
    from sb.entity.composition import Difference

NONE = "-"
CURRENT = "current"


@frozen
class ShownCheckpoint:
    """A checkpoint, and whether its core is composed so now; what is in it, or why that cannot be read."""

    checkpoint_id: str
    found: Checkpoint | str
    is_present: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        if isinstance(self.found, str):
            return {"checkpoint_id": self.checkpoint_id, "problem": self.found}
        return {**plain_json(self.found), "problem": ""}

    @property
    def state_word(self) -> str:
        """One word, or ""."""
        if isinstance(self.found, str):
            return "unreadable"
        if not self.found.intact:
            return "edited"
        return CURRENT if self.is_present else ""


def composition_text(found: Checkpoint) -> str:
    """The number of a core's stacks, and its model."""
    model = found.binding.model_config.get("model_id")
    stacks = counted(len(found.binding.stacks), "stack")
    return f"{stacks}, {model}" if model else stacks


def _saved(
    read: Callable[[Checkpoint], Cell | str], unreadable: str = NONE
) -> Callable[[ShownCheckpoint, int], Cell | str]:
    """Reads a field of the checkpoints that can be read."""
    return lambda it, now: unreadable if isinstance(it.found, str) else read(it.found)


def _stacks(found: Checkpoint) -> str:
    binding = found.binding
    return ", ".join(f"{it}*" if it == binding.active_stack_id else it for it in binding.stacks) or "none"


def _message(about: ShownCheckpoint, now: int) -> str:
    found = about.found
    return f"{about.checkpoint_id}: {found}" if isinstance(found, str) else found.message


def _contents(about: ShownCheckpoint, now: int) -> str:
    found = about.found
    more = "" if isinstance(found, str) else composition_text(found)
    return " · ".join(filter(None, (_message(about, now), more)))


def _age(about: ShownCheckpoint, now: int) -> str:
    at = None if isinstance(about.found, str) else about.found.created_at
    return ago(micros(at.timestamp()) if at else None, now)


CHECKPOINT = Kind[ShownCheckpoint](
    Field("checkpoint", lambda it, now: it.checkpoint_id),
    Field("at", _saved(lambda found: time_cell(minute(found.created_at), found.created_at))),
    Field("word", lambda it, now: it.state_word or NONE, title="state"),
    Field("stacks", _saved(_stacks)),
    Field("model", _saved(lambda found: str(found.binding.model_config.get("model_id", "none")))),
    Field("message", _message),
    Field("state", lambda it, now: Cell(it.state_word, state(it.state_word).tone), Column(10)),
    Field("core", _saved(lambda found: found.binding.core_id, ""), Column(12)),
    Field("contents", _contents, title="message, stacks and model"),
    Field("age", _age, Column(8, tone=SOFT, right=True)),
    faces={
        "table": "checkpoint,at,word,stacks,model,message",
        "list": "state,core,contents,age",
        "plain": "checkpoint,state,core,contents,age",
    },
    json={"+": "checkpoint"},
)


def change_lines(changes: Iterable[Difference]) -> list[str]:
    """The changes of restoring it, a line for each part."""
    return [
        f"{change.part}: {change.before or 'not there'} → {change.after or 'not there'}" for change in changes
    ]
